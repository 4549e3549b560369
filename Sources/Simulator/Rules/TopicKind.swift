/// The suffixes that Apple appends to an app's topic for kinds of pushes other than alerts.
package enum TopicKind {
  /// The suffixes with their push types.
  private static let suffixes = [
    ".voip": "voip", ".voip-ptt": "pushtotalk", ".complication": "complication",
    ".pushkit.fileprovider": "fileprovider", ".location-query": "location",
    ".push-type.liveactivity": "liveactivity", ".push-type.widgets": "widgets",
    ".push-type.controls": "controls",
  ]
  /// The topic of the app's pushes of that type.
  package static func topic(of app: String, for type: String) -> String {
    let suffix = suffixes.first { $0.value == type }?.key ?? ""
    return app.hasSuffix(suffix) ? app : app + suffix
  }

  private static let management = "com.apple.mgmt."

  private static let liveActivities = ".push-type.liveactivity"

  /// The app to which a topic for Live Activities belongs.
  static func app(ofLiveActivities topic: String) -> String {
    topic.hasSuffix(liveActivities) ? String(topic.dropLast(liveActivities.count)) : topic
  }

  /// The reason to reject an app that is not among these; nil if it is. Broadcasts name the app in
  /// the path, and wrong capitals there have a separate reason.
  static func fault(of app: String, among names: [String]) -> PushReason? {
    if names.contains(app) { return nil }
    let plain = app.lowercased()
    return names.contains { $0.lowercased() == plain } ? .topicMismatch : .topicDisallowed
  }

  /// True for the app's own topic and for those with a suffix.
  static func belongs(_ topic: String, to app: String) -> Bool {
    topic == app || topic.hasPrefix(app) && suffixes[String(topic.dropFirst(app.count))] != nil
  }

  /// Whether the payload needs an `aps`. VoIP and file provider payloads belong to the app, and a
  /// Wallet pass gets `{}`.
  static func needsAps(_ type: String?, _ topic: String) -> Bool {
    if topic.hasPrefix("pass.") { return false }
    let type = type ?? suffixes.first { topic.hasSuffix($0.key) }?.value ?? "alert"
    return ["alert", "background", "liveactivity", "widgets", "controls", "mdm"].contains(type)
  }

  /// Whether a push of this type may go to the topic: a topic with a suffix accepts only that
  /// suffix's type, and such a type needs that suffix. `topics` are the certificate's: a topic that
  /// begins others of them is an app's bundle ID, even if it ends in `.voip`.
  static func takes(_ type: String, _ topic: String, among topics: [String]) -> Bool {
    if topic.hasPrefix(management) { return type == "mdm" }
    let isApp = topics.contains { $0 != topic && belongs($0, to: topic) }
    let end = isApp ? nil : suffixes.first { topic.hasSuffix($0.key) && topic != $0.key }
    return end.map { $0.value == type } ?? !suffixes.values.contains(type)
  }
}
