import APNS
import CAPNS

/// What APNs accepts in a push, for all that make entries.
enum PushLimits {
  static let longestPayload = 4096
  static let longestPayloadOfVoIP = 5120
  static let longestCollapseID = 64
  static let priorities = [10, 5, 1]

  static let pushTypes = Dictionary(
    uniqueKeysWithValues: (1...UInt8(APNS_PUSH_TYPE_CONTROLS.rawValue)).map {
      (String(cString: apns_push_type_text(apns_push_type_t(rawValue: UInt32($0)))), $0)
    })

  static func isUUID(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { UUIDText.bytes(UnsafeRawBufferPointer($0)) != nil }
  }

  /// The reasons that call a token bad, with status 400.
  static let badTokenReasons = [
    APNS_REASON_BAD_DEVICE_TOKEN, APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC,
  ]
}
