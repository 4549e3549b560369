/// Something about a payload that its author should know.
struct PayloadFinding {
  enum Reason: UInt8 {
    // The gateway or the device cannot read these.
    case json, notAnObject, type, elementType, encodedTwice, badge, volume, time, size
    // These are delivered and then ignored.
    case noAps, alertIsArray, unknownKey, belongsInAlert, belongsInAps, duplicate, notOne
    case unknownLevel, unknownEvent, notTrue, missing, mark, besideMDM, escapedTwice
  }

  var reason: Reason
  /// Counted in bytes from 0.
  var offset: Int
  /// The name of the key concerned, as written in the payload.
  var name: UnsafeRawBufferPointer?
  var json = JSONFault.Reason.end
  var type = PayloadType.any
  var time: UnlikelyTime?
  /// The key that the author probably meant.
  var like: UnsafeRawBufferPointer?

  init(_ reason: Reason, at offset: Int, name: UnsafeRawBufferPointer? = nil) {
    self.reason = reason
    self.offset = offset
    self.name = name
  }

  var isError: Bool { reason.rawValue <= Reason.size.rawValue }
}

/// The required type of a key's value. `PayloadObject` has a letter for each.
enum PayloadType: UInt8 {
  case any, string, integer, number, strings, object, alert, sound, stringOrNull, one, level
  /// A string, or in a Live Activity an object with the keys of a localization.
  case text
  case yes, event
  /// From 0 to 1; a number that fits the icon; UNIX seconds, for one kind with 0 as "now".
  case share, badge, time, timeOrNow

  func holds(_ token: JSONReader.Token) -> Bool {
    switch self {
    case .any: true
    case .string, .level, .event: token == .string
    case .integer, .one, .badge: token == .integer
    case .number, .share, .time, .timeOrNow: token == .integer || token == .fraction
    case .strings: token == .beginArray
    case .object: token == .beginObject
    case .alert, .sound, .text: token == .string || token == .beginObject
    case .stringOrNull: token == .string || token == .null
    case .yes: token == .word
    }
  }
}
