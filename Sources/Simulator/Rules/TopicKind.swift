/// The suffixes that Apple appends to an app's topic for kinds of pushes other than alerts.
enum TopicKind {
  private static let suffixes = [
    ".voip", ".voip-ptt", ".complication", ".pushkit.fileprovider", ".location-query",
    ".push-type.liveactivity", ".push-type.widgets", ".push-type.controls",
  ]

  private static let liveActivities = ".push-type.liveactivity"

  /// The app whose Live Activities a topic is for.
  static func app(ofLiveActivities topic: String) -> String {
    topic.hasSuffix(liveActivities) ? String(topic.dropLast(liveActivities.count)) : topic
  }

  /// Why an app is none of these; nil if it is. Broadcasts name it in the path, where a capital in
  /// the wrong place has a reason of its own.
  static func fault(of app: String, among names: [String]) -> PushReason? {
    if names.contains(app) { return nil }
    let plain = app.lowercased()
    return names.contains { $0.lowercased() == plain } ? .topicMismatch : .topicDisallowed
  }

  /// True for the app's own topic and for those with a suffix.
  static func belongs(_ topic: String, to app: String) -> Bool {
    topic == app || topic.hasPrefix(app) && suffixes.contains(String(topic.dropFirst(app.count)))
  }
}
