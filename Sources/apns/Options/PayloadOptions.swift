import ArgumentParser
import Simulator

/// A payload in flags, or where it is to be read.
struct PayloadOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The payload, as JSON; - is standard input, which is also read where no flag says what to send.",
      valueName: "file"),
    completion: .file())
  var payload: String?

  @Option(help: ArgumentHelp("The text.", valueName: "text"))
  var alert: String?
  @Option(help: ArgumentHelp("The line above the text.", valueName: "text"))
  var title: String?
  @Option(help: ArgumentHelp("The line between title and text.", valueName: "text"))
  var subtitle: String?
  @Option(
    help: ArgumentHelp("The text, as a key of the app's Localizable.strings.", valueName: "key"))
  var locKey: String?
  @Option(
    help: ArgumentHelp("What fills the --loc-key's text; may be repeated.", valueName: "text"))
  var locArg: [String] = []
  @Option(help: ArgumentHelp("The title, as such a key.", valueName: "key"))
  var titleLocKey: String?
  @Option(help: ArgumentHelp("What fills the title's; may be repeated.", valueName: "text"))
  var titleLocArg: [String] = []
  @Option(help: ArgumentHelp("The number on the app's icon; 0 takes it away.", valueName: "n"))
  var badge: String?
  @Option(help: ArgumentHelp("\"default\", or a sound of the app's.", valueName: "name"))
  var sound: String?
  @Option(help: ArgumentHelp("The app's category, for its actions.", valueName: "name"))
  var category: String?
  @Option(help: ArgumentHelp("What the device groups by.", valueName: "name"))
  var threadID: String?
  @Option(
    help: ArgumentHelp("passive, active, time-sensitive or critical.", valueName: "level"))
  var interruptionLevel: String?
  @Flag(help: "Wake the app in the background.") var contentAvailable = false
  @Flag(help: "Let the app's extension change the notification.") var mutableContent = false
  @Option(
    help: ArgumentHelp(
      "A key of the app's own and its value, JSON or else a text; may be repeated.",
      valueName: "name=value"))
  var custom: [String] = []

  func validate() throws {
    if payload != nil, hasFlags {
      throw ValidationError("--payload is the whole payload: no flag can add to it")
    }
    if let badge, Int64(badge) == nil, !isPlaceholder(badge) {
      throw ValidationError("--badge is a number, or {{field}} of the list")
    }
    if locKey == nil, !locArg.isEmpty { throw ValidationError("--loc-arg needs --loc-key") }
    if titleLocKey == nil, !titleLocArg.isEmpty {
      throw ValidationError("--title-loc-arg needs --title-loc-key")
    }
    for one in custom where !one.dropFirst().contains("=") {
      throw ValidationError("--custom is name=value, and '\(one)' is not")
    }
    if custom.contains(where: { $0.hasPrefix("aps=") }) {
      throw ValidationError("--custom aps=...: aps is Apple's, and made of the other flags")
    }
  }

  var hasFlags: Bool {
    [
      alert, title, subtitle, locKey, titleLocKey, badge, sound, category, threadID,
      interruptionLevel,
    ].contains { $0 != nil } || contentAvailable || mutableContent || !custom.isEmpty
  }

  /// The JSON that the flags say.
  var json: String {
    var parts = JSONMembers()
    parts.add("title", text: title)
    parts.add("subtitle", text: subtitle)
    parts.add("body", text: alert)
    parts.add("title-loc-key", text: titleLocKey)
    parts.add("title-loc-args", texts: titleLocArg)
    parts.add("loc-key", text: locKey)
    parts.add("loc-args", texts: locArg)
    var aps = JSONMembers()
    let isText = [title, subtitle, locKey, titleLocKey].allSatisfy { $0 == nil }
    if isText {
      aps.add("alert", text: alert)
    } else {
      aps.add("alert", json: parts.object)
    }
    aps.add("badge", json: badge)
    aps.add("sound", text: sound)
    aps.add("category", text: category)
    aps.add("thread-id", text: threadID)
    aps.add("interruption-level", text: interruptionLevel)
    aps.add("content-available", json: contentAvailable ? "1" : nil)
    aps.add("mutable-content", json: mutableContent ? "1" : nil)
    var all = JSONMembers()
    all.add("aps", json: aps.object)
    for one in custom {
      let parts = one.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = String(parts[1])
      let isJSON = (try? JSONParser.read(value.utf8)) != nil || isPlaceholder(value)
      all.add(String(parts[0]), json: isJSON ? value : JSONLiteral.string(value))
    }
    return all.object
  }

  private func isPlaceholder(_ text: String) -> Bool {
    text.hasPrefix("{{") && text.hasSuffix("}}")
      && text.dropFirst(2).dropLast(2).allSatisfy {
        Template.isNamePart($0.utf8.first ?? 0)
      }
  }
}
