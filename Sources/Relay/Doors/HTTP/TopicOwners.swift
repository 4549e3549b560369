/// Whose a topic is. An app has its own, and those that Apple derives from it for other kinds of
/// pushes. One that an app has exactly is that app's, whatever else it is derived from.
enum TopicOwners {
  private static let suffixes: Set<Substring> = [
    "voip", "voip-ptt", "complication", "pushkit.fileprovider", "location-query",
  ]
  /// Apple adds kinds.
  private static let kinds = "push-type."

  static func of(_ topic: String, _ apps: [AppConfiguration]) -> [AppConfiguration] {
    let exact = apps.filter { $0.topic == topic }
    guard exact.isEmpty else { return exact }
    let all = apps.filter { $0.topic.map { isDerived(topic, from: $0) } ?? false }
    // Of `a` and `a.voip`, `a.voip.complication` is the second's.
    let longest = all.compactMap { $0.topic?.utf8.count }.max()
    return all.filter { $0.topic?.utf8.count == longest }
  }

  /// Of a bundle identifier, whose channels are managed or pushed to.
  static func of(bundle: String, _ apps: [AppConfiguration]) -> [AppConfiguration] {
    // The library leaves out the end of such a topic, and the rest may be another app's.
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
