/// The suffixes that Apple appends to an app's topic for kinds of pushes other than alerts.
enum TopicKind {
  private static let suffixes = [
    ".voip", ".voip-ptt", ".complication", ".pushkit.fileprovider", ".location-query",
    ".push-type.liveactivity", ".push-type.widgets", ".push-type.controls",
  ]

  /// True for the app's own topic and for those with a suffix.
  static func belongs(_ topic: String, to app: String) -> Bool {
    topic == app || topic.hasPrefix(app) && suffixes.contains(String(topic.dropFirst(app.count)))
  }
}
