import Client
import JSON

/// A device's display of a payload.
struct ShownPush {
  private(set) var title: String?
  private(set) var subtitle: String?
  private(set) var body: String?
  private(set) var badge: Int?
  private(set) var sound: String?
  private(set) var isCritical = false
  private(set) var isSilent = false
  private(set) var wakesApp = false
  private(set) var notes: [String] = []
  /// Keys that are missing from the strings.
  private(set) var missing: [String] = []
  /// Texts whose arguments do not fit.
  private(set) var problems: [String] = []

  init?(_ payload: JSONValue, _ strings: StringsFile?) {
    guard let aps = payload["aps"], case .object = aps.content else { return nil }
    if let alert = aps["alert"] {
      if let text = Self.string(alert) {
        body = text
      } else {
        title = text(of: alert, "title", strings)
        subtitle = text(of: alert, "subtitle", strings)
        body = text(of: alert, "", strings) ?? Self.string(alert["body"])
      }
    }
    if case .number(let number)? = aps["badge"]?.content { badge = Int(exactly: number) }
    if let name = Self.string(aps["sound"]) {
      sound = name
    } else if let critical = aps["sound"] {
      sound = Self.string(critical["name"])
      if case .number(1)? = critical["critical"]?.content { isCritical = true }
    }
    if case .number(1)? = aps["content-available"]?.content { wakesApp = true }
    for (key, prefix) in [
      ("category", "category"), ("thread-id", "grouped with"), ("interruption-level", "level"),
    ] {
      if let text = Self.string(aps[key]) { notes.append("\(prefix) \(text)") }
    }
    if case .number(1)? = aps["mutable-content"]?.content {
      notes.append("the app's extension may modify it")
    }
    isSilent = title == nil && subtitle == nil && body == nil && badge == nil && sound == nil
  }

  /// The text of a part, localized if it has a key. "" is the body, whose key has no prefix.
  private mutating func text(
    of alert: JSONValue, _ part: String, _ strings: StringsFile?
  ) -> String? {
    let prefix = part.isEmpty ? "" : part + "-"
    guard let key = Self.string(alert[prefix + "loc-key"]) else {
      return part.isEmpty ? nil : Self.string(alert[part])
    }
    var arguments: [String] = []
    if case .array(let values)? = alert[prefix + "loc-args"]?.content {
      arguments = values.compactMap { Self.string($0) }
    }
    guard let strings else {
      return arguments.isEmpty ? key : "\(key) (\(arguments.joined(separator: ", ")))"
    }
    guard strings.has(key) else {
      missing.append(key)
      return key
    }
    do throws(LibraryError) {
      return try strings.format(key, arguments)
    } catch {
      problems.append("\(prefix)loc-key \(key): \(error.message)")
      return key
    }
  }

  private static func string(_ value: JSONValue?) -> String? {
    if case .string(let text)? = value?.content { return text }
    return nil
  }
}
