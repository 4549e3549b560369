import APNS
import CAPNS
import Client

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

  /// A field that APNs would refuse, and why; nil if it would accept all.
  static func fault(in entry: NewEntry) -> (field: String, message: String)? {
    if let type = entry.pushType, pushTypes[type] == nil {
      return ("push_type", "there is no push type '\(type.prefix(40))'")
    }
    if let priority = entry.priority, !priorities.contains(priority) {
      return ("priority", "priority is 10, 5 or 1, not \(priority)")
    }
    if let count = entry.collapseID?.utf8.count, count > longestCollapseID {
      return ("collapse_id", "collapse_id has \(count) bytes; the limit is \(longestCollapseID)")
    }
    return nil
  }

  /// Why a device token is invalid; nil if it is valid.
  static func fault(ofToken text: String) -> String? {
    do throws(LibraryError) {
      _ = try DeviceToken.hex(Array(text.utf8))
      return nil
    } catch {
      return error.message
    }
  }

  static func isUUID(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { UUIDText.bytes(UnsafeRawBufferPointer($0)) != nil }
  }

  /// The reasons that call a token bad, with status 400.
  static let badTokenReasons = [
    APNS_REASON_BAD_DEVICE_TOKEN, APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC,
  ]
}
