import APNS

/// What a payload must be beyond its size. Whoever breaks it is answered with status 1,
/// processing error: Apple's list has no status of its own for it, 4 and 7 mean that it
/// is missing or too large, 128 that the frame is none.
enum PayloadJudge {
  /// What is wrong; nil where nothing is.
  static func fault(of notification: WireNotification) -> String? {
    switch read(notification.payload) {
    case .wrong(let fault): return fault
    case .mdm: return nil
    case .aps(let members):
      if notification.priority == 10, members.count == 1, members[0].name == "content-available" {
        return "priority 10 and nothing but content-available"
      }
      return nil
    }
  }

  /// The same of a payload alone.
  static func fault(of payload: UnsafeRawBufferPointer) -> String? {
    if case .wrong(let fault) = read(payload) { fault } else { nil }
  }

  private enum Content {
    case wrong(String)
    /// For a device's management, which knows no aps: {"mdm": "…"}.
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
      return .wrong("payload: no object aps in it")
    }
    return .aps(members)
  }
}
