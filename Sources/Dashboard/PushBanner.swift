import JSON

/// A push as a device would show it.
struct PushBanner {
  var title: String?
  var subtitle: String?
  var body: String?
  var badge: Int?
  var sound: String?
  var isCritical = false
  var thread: String?
  var category: String?
  var level: String?
  /// The event of a Live Activity: start, update or end.
  var event: String?
  /// Wakes the app without a banner.
  var isSilent = false
  /// The reasons why it will not appear as intended.
  var problems: [String] = []

  /// nil if the payload cannot be read.
  init?(_ payload: some Sequence<UInt8>, _ strings: LocalizedStrings?) {
    guard let json = try? JSONParser.read(payload), let aps = json["aps"],
      case .object = aps.content
    else { return nil }
    if let alert = aps["alert"] {
      if let text = alert.string {
        body = text
      } else if case .object = alert.content {
        title = line("title", of: alert, strings)
        subtitle = line("subtitle", of: alert, strings)
        body = line("body", of: alert, strings)
      }
    }
    badge = aps["badge"]?.integer
    if let sound = aps["sound"] {
      self.sound = sound.string ?? sound["name"]?.string
      isCritical = sound["critical"]?.integer == 1
    }
    event = aps["event"]?.string
    thread = aps["thread-id"]?.string
    category = aps["category"]?.string
    level = aps["interruption-level"]?.string
    isSilent =
      aps["content-available"]?.integer == 1 && title == nil && subtitle == nil && body == nil
  }

  /// A key takes precedence over a text. An unknown key is shown as it is, as on a device.
  private mutating func line(
    _ name: String, of alert: JSONValue, _ strings: LocalizedStrings?
  ) -> String? {
    var (source, prefix) = (alert, name == "body" ? "" : name + "-")
    // For the alert of a Live Activity.
    if let text = alert[name], case .object = text.content { (source, prefix) = (text, "") }
    guard let key = source["\(prefix)loc-key"]?.string else { return source[name]?.string }
    var arguments: [String] = []
    if case .array(let elements) = source["\(prefix)loc-args"]?.content {
      arguments = elements.map { $0.string ?? "" }
    }
    switch strings?.text(for: key, arguments) {
    case .whole(let text): return text
    case .unfilled(let value, let why):
      problems.append(why)
      return value
    case .missing:
      problems.append("\(key): this language does not have the key")
      return key
    case nil:
      problems.append("\(key): no language is selected")
      return key
    }
  }

  var json: String {
    """
    {"title":\(JSONLiteral.string(title)),"subtitle":\(JSONLiteral.string(subtitle)),"body":\(JSONLiteral.string(body)),\
    "badge":\(badge.map(String.init) ?? "null"),"sound":\(JSONLiteral.string(sound)),"critical":\(isCritical),\
    "thread":\(JSONLiteral.string(thread)),"category":\(JSONLiteral.string(category)),"level":\(JSONLiteral.string(level)),\
    "event":\(JSONLiteral.string(event)),"silent":\(isSilent),"problems":[\(problems.map(JSONLiteral.string).joined(separator: ","))]}
    """
  }
}
