import APNS
import JSON

/// Validates payloads beyond their size. An invalid one gets status 1, processing error: in Apple's
/// list 4 and 7 mean a missing or too large payload, and 128 a broken frame.
enum PayloadValidator {
  /// The problem with the payload; nil if it is valid.
  static func fault(of notification: WireNotification) -> String? {
    switch read(notification.payload) {
    case .wrong(let fault): return fault
    case .noAps: return nil
    case .aps(let members):
      if notification.priority == 10, members.count == 1, members[0].name == "content-available" {
        return "priority 10 with only content-available"
      }
      return nil
    }
  }

  /// The same for a payload without a frame. `needsAps` is false if the push type or the topic
  /// leaves the content to the app or to Wallet.
  static func fault(of payload: UnsafeRawBufferPointer, needsAps: Bool) -> String? {
    if case .wrong(let fault) = read(payload, needsAps: needsAps) { fault } else { nil }
  }

  private enum Content {
    case wrong(String)
    /// Without aps: {"mdm": "…"} for device management, or if aps is not needed.
    case noAps
    case aps([JSONValue.Member])
  }

  private static func read(_ bytes: UnsafeRawBufferPointer, needsAps: Bool = true) -> Content {
    let payload: JSONValue
    do throws(JSONError) {
      payload = try JSONParser.read(bytes)
    } catch {
      return .wrong("payload: \(error.message), at byte \(error.offset)")
    }
    guard case .object = payload.content else { return .wrong("payload: not an object") }
    if payload["aps"] == nil, !needsAps || payload["mdm"]?.string != nil { return .noAps }
    guard let aps = payload["aps"], case .object(let members) = aps.content else {
      return .wrong("payload: no object aps")
    }
    return .aps(members)
  }
}
