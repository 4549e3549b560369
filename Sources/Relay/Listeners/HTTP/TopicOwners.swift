/// Finds the apps that own a topic. An app owns its topic, and the topics that Apple derives from
/// it for other push types. An exact match takes precedence over a derived one.
enum TopicOwners {
  private static let suffixes: Set<Substring> = [
    "voip", "voip-ptt", "complication", "pushkit.fileprovider", "location-query",
  ]
  /// A prefix, because Apple adds push types.
  private static let kinds = "push-type."

  static func of(_ topic: String, _ apps: [AppConfiguration]) -> [AppConfiguration] {
    let exact = apps.filter { $0.topic == topic }
    guard exact.isEmpty else { return exact }
    let all = apps.filter { $0.topic.map { isDerived(topic, from: $0) } ?? false }
    // With the apps `a` and `a.voip`, the topic `a.voip.complication` belongs to the second.
    let longest = all.compactMap { $0.topic?.utf8.count }.max()
    return all.filter { $0.topic?.utf8.count == longest }
  }

  /// The owners of a bundle ID for channels and broadcasts.
  static func of(bundle: String, _ apps: [AppConfiguration]) -> [AppConfiguration] {
    // The library removes such a suffix, and the rest may be another app's topic.
    if bundle.contains("." + kinds) { return [] }
    let exact = apps.filter { $0.topic == bundle }
    return exact.isEmpty
      ? apps.filter { $0.topic.map { isDerived($0, from: bundle) } ?? false } : exact
  }

  private static func isDerived(_ topic: String, from app: String) -> Bool {
    guard topic.hasPrefix(app + ".") else { return false }
    let end = topic.dropFirst(app.count + 1)
    return suffixes.contains(end) || end.hasPrefix(kinds)
  }
}
