/// The apps of a relay. Finding one by its name or topic takes the same time, however many there are.
///
/// An app owns its topic, and the topics that Apple derives from it for other push types. An exact match
/// takes precedence over a derived one.
package final class ServedApps: Sendable {
  private static let suffixes: [Substring] = [
    "voip", "voip-ptt", "complication", "pushkit.fileprovider", "location-query",
  ]
  /// A prefix, because Apple adds push types.
  private static let kinds = "push-type."

  /// In the configuration's order, as in all results.
  package let all: [AppConfiguration]
  private let byName: [String: Int]
  private let byTopic: [Substring: [Int]]
  /// By the topics from which theirs are derived.
  private let byBase: [Substring: [Int]]
  /// The number of characters of the longest topic.
  private let longest: Int

  package init(_ all: [AppConfiguration]) {
    self.all = all
    byName = Dictionary(uniqueKeysWithValues: zip(all.map(\.name), all.indices))
    longest = all.compactMap(\.topic?.count).max() ?? 0
    var (byTopic, byBase): ([Substring: [Int]], [Substring: [Int]]) = ([:], [:])
    for (index, app) in all.enumerated() {
      guard let topic = app.topic else { continue }
      byTopic[topic[...], default: []].append(index)
      for base in Self.bases(of: topic, most: longest) { byBase[base, default: []].append(index) }
    }
    (self.byTopic, self.byBase) = (byTopic, byBase)
  }

  package subscript(name: String) -> AppConfiguration? { index(of: name).map { all[$0] } }

  /// The place in `all`.
  func index(of name: String) -> Int? { byName[name] }

  /// The apps with this topic.
  func with(topic: String) -> [AppConfiguration] { found(byTopic[topic[...]]) }

  func owners(of topic: String) -> [AppConfiguration] {
    let exact = with(topic: topic)
    guard exact.isEmpty else { return exact }
    // With the apps `a` and `a.voip`, the topic `a.voip.complication` belongs to the second.
    return found(Self.bases(of: topic, most: longest).lazy.compactMap { self.byTopic[$0] }.first)
  }

  /// The owners of a bundle ID for channels and broadcasts.
  func owners(ofBundle bundle: String) -> [AppConfiguration] {
    // The library removes such a suffix, and the rest may be another app's topic.
    if bundle.contains("." + Self.kinds) { return [] }
    return found(byTopic[bundle[...]] ?? byBase[bundle[...]])
  }

  private func found(_ indices: [Int]?) -> [AppConfiguration] { indices?.map { all[$0] } ?? [] }

  /// The possible topics of at most `most` characters from which Apple derives this one, the longest
  /// first.
  private static func bases(of topic: String, most: Int) -> [Substring] {
    topic.indices.prefix(most + 1).reversed().compactMap { dot in
      guard topic[dot] == "." else { return nil }
      let end = topic[dot...].dropFirst()
      return suffixes.contains(end) || end.hasPrefix(kinds) ? topic[..<dot] : nil
    }
  }
}
