import APNS

/// Judges payloads beyond their size. A bad one is answered with status 1, processing error: in
/// Apple's list 4 and 7 mean that the payload is missing or too large, and 128 that the frame is
/// broken.
enum PayloadJudge {
  /// What is wrong; nil if nothing is.
  static func fault(of notification: WireNotification) -> String? {
    switch read(notification.payload) {
    case .wrong(let fault): return fault
    case .mdm: return nil
    case .aps(let members):
      if notification.priority == 10, members.count == 1, members[0].name == "content-available" {
        return "priority 10, but nothing except content-available"
      }
      return nil
    }
  }

  /// The same for a payload without a frame.
  static func fault(of payload: UnsafeRawBufferPointer) -> String? {
    if case .wrong(let fault) = read(payload) { fault } else { nil }
  }

  private enum Content {
    case wrong(String)
    /// For device management, which has no aps: {"mdm": "…"}.
    case mdm
    case aps([JSONValue.Member])
  }

  private static func read(_ bytes: UnsafeRawBufferPointer) -> Content {
    let payload: JSONValue
    do throws(JSONError) {
      payload = try JSONParser.read(bytes)
    } catch {
      return .wrong("payload: \(error.message), at byte \(error.offset)")
    }
    guard case .object = payload.content else { return .wrong("payload: not an object") }
    if payload["aps"] == nil, payload["mdm"]?.string != nil { return .mdm }
    guard let aps = payload["aps"], case .object(let members) = aps.content else {
      return .wrong("payload: there is no object aps")
    }
    return .aps(members)
  }
}
