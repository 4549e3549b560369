import ArgumentParser
import JSON

/// A payload in options, or its file, for `apns send` and `apns enqueue`.
package struct PayloadOptions: ParsableArguments {
  @Option(
    file: "The payload, as JSON; - reads standard input, as send does without payload options.")
  package var payload: String?

  @Option(name: .shortAndLong, help: .of("text", "The text."))
  package var alert: String?
  @Option(help: .of("text", "The line above the text."))
  package var title: String?
  @Option(help: .of("text", "The line between title and text."))
  package var subtitle: String?
  @Option(help: .of("key", "The text, as a key in the app's Localizable.strings."))
  package var locKey: String?
  @Option(help: .of("text", "An argument for the --loc-key's text; may be repeated."))
  package var locArg: [String] = []
  @Option(help: .of("key", "The title, as a key in Localizable.strings."))
  package var titleLocKey: String?
  @Option(help: .of("text", "An argument for the --title-loc-key's text; may be repeated."))
  package var titleLocArg: [String] = []
  @Option(help: .of("n", "The number on the app's icon; 0 removes it."))
  package var badge: String?
  @Option(help: .of("name", "\"default\", or one of the app's sounds."))
  package var sound: String?
  @Option(help: .of("name", "The app's category, which has its actions."))
  package var category: String?
  @Option(help: .of("name", "The thread by which the device groups notifications."))
  package var threadID: String?
  @Option(help: .of("level", "passive, active, time-sensitive or critical."))
  package var interruptionLevel: String?
  @Flag(help: "Wake the app in the background.") package var contentAvailable = false
  @Flag(help: "Let the app's extension change the notification.") package var mutableContent = false
  @Option(
    help: .of("name=value", "A custom key and its value, JSON or plain text; may be repeated."))
  package var custom: [String] = []

  package init() {}

  package func validate() throws {
    if payload != nil, hasFlags {
      throw ValidationError("--payload is the whole payload: other options cannot add to it")
    }
    if let badge, Int64(badge) == nil, !Placeholder.isWhole(badge) {
      throw ValidationError("--badge must be a number, or {{field}} of the list")
    }
    if locKey == nil, !locArg.isEmpty { throw ValidationError("--loc-arg needs --loc-key") }
    if titleLocKey == nil, !titleLocArg.isEmpty {
      throw ValidationError("--title-loc-arg needs --title-loc-key")
    }
    for one in custom where !one.dropFirst().contains("=") {
      throw ValidationError("--custom must be name=value, not '\(one)'")
    }
    if custom.contains(where: { $0.hasPrefix("aps=") }) {
      throw ValidationError(
        "--custom aps=...: aps belongs to Apple and is made from the other options")
    }
  }

  package var hasFlags: Bool {
    [
      alert, title, subtitle, locKey, titleLocKey, badge, sound, category, threadID,
      interruptionLevel,
    ].contains { $0 != nil } || contentAvailable || mutableContent || !custom.isEmpty
  }

  /// The JSON from the options.
  package var json: String {
    let alertParts: JSONMembers = [
      "title": .text(title), "subtitle": .text(subtitle), "body": .text(alert),
      "title-loc-key": .text(titleLocKey), "title-loc-args": .texts(nonempty: titleLocArg),
      "loc-key": .text(locKey), "loc-args": .texts(nonempty: locArg),
    ]
    let isText = [title, subtitle, locKey, titleLocKey].allSatisfy { $0 == nil }
    return whole([
      "alert": isText ? .text(alert) : .json(alertParts.object), "badge": .json(badge),
      "sound": .text(sound), "category": .text(category), "thread-id": .text(threadID),
      "interruption-level": .text(interruptionLevel),
      "content-available": .json(contentAvailable ? "1" : nil),
      "mutable-content": .json(mutableContent ? "1" : nil),
    ])
  }

  /// With the custom keys and Apple's.
  package func whole(_ aps: JSONMembers) -> String {
    var all: JSONMembers = ["aps": .json(aps.object)]
    for one in custom {
      let parts = one.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = String(parts[1])
      let isJSON = (try? JSONParser.read(value.utf8)) != nil || Placeholder.isWhole(value)
      all.add(String(parts[0]), .json(isJSON ? value : JSONLiteral.string(value)))
    }
    return all.object
  }

  /// An option that a Live Activity does not have; nil if none was given.
  package var notOfActivities: String? {
    [
      ("--subtitle", subtitle != nil), ("--badge", badge != nil), ("--category", category != nil),
      ("--thread-id", threadID != nil), ("--interruption-level", interruptionLevel != nil),
      ("--content-available", contentAvailable), ("--mutable-content", mutableContent),
    ].first { $0.1 }?.0
  }

  /// A Live Activity's alert: the device localizes title and body, and the sound is part of it.
  package var activityAlert: String? {
    func part(_ text: String?, _ key: String?, _ arguments: [String]) -> String? {
      guard let key else { return text.map { JSONLiteral.string($0) } }
      return JSONMembers.object(["loc-key": .text(key), "loc-args": .texts(nonempty: arguments)])
    }
    let parts: JSONMembers = [
      "title": .json(part(title, titleLocKey, titleLocArg)),
      "body": .json(part(alert, locKey, locArg)), "sound": .text(sound),
    ]
    return parts.object == "{}" ? nil : parts.object
  }
}
