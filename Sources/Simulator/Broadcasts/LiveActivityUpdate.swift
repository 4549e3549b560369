import JSON

/// The part of a payload about a Live Activity.
struct LiveActivityUpdate: Sendable {
  enum Event: String, Sendable {
    case start, update, end
  }

  var event: Event
  /// UNIX seconds, like the following dates.
  var timestamp: Int64
  var staleDate: Int64?
  var dismissalDate: Int64?
  var relevance: Double?
  /// As JSON.
  var contentState: String?
  var attributesType: String?
  /// As JSON.
  var attributes: String?
  /// The channel that the activity subscribes to when it starts.
  var inputChannel: String?

  /// nil if the payload is not about a Live Activity.
  init?(_ payload: UnsafeRawBufferPointer) {
    guard let json = try? JSONParser.read(payload), let aps = json["aps"],
      let event = aps["event"]?.string.flatMap(Event.init(rawValue:))
    else { return nil }
    self.event = event
    timestamp = Self.seconds(aps["timestamp"]) ?? 0
    staleDate = Self.seconds(aps["stale-date"])
    dismissalDate = Self.seconds(aps["dismissal-date"])
    relevance = aps["relevance-score"]?.number
    contentState = Self.object(aps["content-state"], in: payload)
    attributesType = aps["attributes-type"]?.string
    attributes = Self.object(aps["attributes"], in: payload)
    inputChannel = aps["input-push-channel"]?.string
  }

  private static func seconds(_ value: JSONValue?) -> Int64? {
    value?.number.flatMap { Int64(exactly: $0.rounded(.down)) }
  }

  /// The original text.
  private static func object(_ value: JSONValue?, in payload: UnsafeRawBufferPointer) -> String? {
    guard let value, case .object = value.content else { return nil }
    return String(decoding: payload[value.offset..<value.end], as: UTF8.self)
  }
}
