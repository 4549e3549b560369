/// Apple's keys that a payload may have. The numbers are those of apns_payload_key_t.
enum PayloadKey: UInt8 {
  case alert = 1
  case title, subtitle, body, titleLocKey, subtitleLocKey, locKey, actionLocKey, launchImage
  case titleLocArgs, subtitleLocArgs, locArgs
  case sound, category, threadID, targetContentID, interruptionLevel, filterCriteria
  case urlArgs
  case badge, contentAvailable, mutableContent
  case relevanceScore
  case timestamp, event, contentState, staleDate, dismissalDate, attributesType, attributes
  case inputPushToken, inputPushChannel, alertSound, contentChanged

  enum Kind { case string, strings, integer, number, json }

  var kind: Kind {
    switch self {
    case .titleLocArgs, .subtitleLocArgs, .locArgs, .urlArgs: .strings
    case .badge, .contentAvailable, .mutableContent, .timestamp, .staleDate, .dismissalDate,
      .inputPushToken, .contentChanged:
      .integer
    case .contentState, .attributes: .json
    case .relevanceScore: .number
    default: .string
    }
  }

  /// Whether the key belongs to the alert's object rather than to `aps` itself.
  @inline(__always)
  var isInAlert: Bool {
    rawValue >= Self.title.rawValue && rawValue <= Self.locArgs.rawValue || self == .alertSound
  }

  /// Whether the value is a time of a Live Activity, in UNIX seconds.
  var isTime: Bool { self == .timestamp || self == .staleDate || self == .dismissalDate }

  /// Whether the key may be an object with the keys of a localization, in a Live Activity.
  var isText: Bool { self == .title || self == .body }

  var name: StaticString {
    switch self {
    case .alert: "alert"
    case .title: "title"
    case .subtitle: "subtitle"
    case .body: "body"
    case .titleLocKey: "title-loc-key"
    case .subtitleLocKey: "subtitle-loc-key"
    case .locKey: "loc-key"
    case .actionLocKey: "action-loc-key"
    case .launchImage: "launch-image"
    case .titleLocArgs: "title-loc-args"
    case .subtitleLocArgs: "subtitle-loc-args"
    case .locArgs: "loc-args"
    case .sound, .alertSound: "sound"
    case .category: "category"
    case .threadID: "thread-id"
    case .targetContentID: "target-content-id"
    case .interruptionLevel: "interruption-level"
    case .filterCriteria: "filter-criteria"
    case .urlArgs: "url-args"
    case .badge: "badge"
    case .contentAvailable: "content-available"
    case .mutableContent: "mutable-content"
    case .relevanceScore: "relevance-score"
    case .timestamp: "timestamp"
    case .event: "event"
    case .contentState: "content-state"
    case .staleDate: "stale-date"
    case .dismissalDate: "dismissal-date"
    case .attributesType: "attributes-type"
    case .attributes: "attributes"
    case .inputPushToken: "input-push-token"
    case .inputPushChannel: "input-push-channel"
    case .contentChanged: "content-changed"
    }
  }
}
