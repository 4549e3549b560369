import APNS
import JSON

enum LedgerOutcome {
  case accepted
  case rejected(UInt8)
  /// Rejected over HTTP/2.
  case refused(PushReason)
  /// Arrived after a rejection.
  case discarded
  /// A fault left it unanswered.
  case ignored
}

/// Writes notifications as JSON, one to a line.
struct NotificationLines {
  private let hasOutcome: Bool
  private(set) var text: [UInt8] = []
  /// The end of each line, including its newline.
  private(set) var ends: [Int] = []
  /// The start of every line of a batch: time and connection.
  private var head: [UInt8] = []

  init(hasOutcome: Bool) { self.hasOutcome = hasOutcome }

  mutating func beginBatch(connection: Int) {
    head.removeAll(keepingCapacity: true)
    head += "{\"time\":\(WallClock.secondsText()),\"connection\":\(connection)".utf8
  }

  mutating func append(
    _ frame: Frame, _ outcome: LedgerOutcome = .accepted, isDuplicate: Bool = false
  ) {
    let notification = frame.notification
    begin()
    number(UInt32(frame.command.rawValue))
    field("identifier", notification.identifier)
    field("expiry", notification.expiry)
    field("priority", notification.priority.map(UInt32.init))
    contents(notification.token, notification.payload)
    end(outcome, isDuplicate)
  }

  /// A push over HTTP/2 with its unchanged headers and its actual `apns-id` and topic. A broadcast
  /// has its `apns-request-id` there, and its channel instead of a token.
  mutating func append(
    _ push: Push, topic: String?, key: String?, _ outcome: LedgerOutcome = .accepted,
    isDuplicate: Bool = false
  ) {
    let request = push.request
    text += head
    field("stream", UInt32(truncatingIfNeeded: Int(push.id)))
    field("apns_id", push.identifier)
    field("unique_id", push.uniqueIdentifier)
    field("topic", topic)
    field("push_type", request.type)
    field("expiration", request.expiration)
    field("priority", request.priority)
    field("collapse_id", request.collapse)
    field("key_id", key)
    if request.broadcastApp != nil {
      field("channel", request.channel)
      field("devices", UInt32(truncatingIfNeeded: push.devices))
    } else if push.token.isEmpty {
      field("path", request.path)
    }
    push.token.withUnsafeBytes { token in
      request.payload.withUnsafeReadableBytes { contents(token, $0) }
    }
    end(outcome, isDuplicate)
  }

  private mutating func contents(
    _ token: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer
  ) {
    text += ",\"token\":\"".utf8
    for byte in token {
      text.append(JSONLiteral.hexDigits[Int(byte >> 4)])
      text.append(JSONLiteral.hexDigits[Int(byte & 15)])
    }
    if isUTF8(payload) {
      text += "\",\"payload\":\"".utf8
      JSONLiteral.escape(payload, into: &text)
    } else {
      text += "\",\"payload_base64\":\"".utf8
      Base64.append(payload, to: &text)
    }
    text.append(UInt8(ascii: "\""))
  }

  /// A notification with no other readable field.
  mutating func append(command: UInt8, identifier: UInt32?, _ outcome: LedgerOutcome) {
    begin()
    number(UInt32(command))
    field("identifier", identifier)
    end(outcome, false)
  }

  mutating func hand(to record: RecordFile) {
    if text.isEmpty { return }
    record.append(text)
    clear()
  }

  mutating func clear() {
    text.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  private mutating func begin() {
    text += head
    text += ",\"command\":".utf8
  }

  private mutating func end(_ outcome: LedgerOutcome, _ isDuplicate: Bool) {
    if hasOutcome {
      switch outcome {
      case .accepted: text += ",\"outcome\":\"accepted\"".utf8
      case .rejected(let status):
        text += ",\"outcome\":\"rejected\"".utf8
        field("status", UInt32(status))
      case .refused(let reason):
        text += ",\"outcome\":\"rejected\"".utf8
        field("status", UInt32(truncatingIfNeeded: reason.status))
        field("reason", reason.word)
      case .discarded: text += ",\"outcome\":\"discarded\"".utf8
      case .ignored: text += ",\"outcome\":\"ignored\"".utf8
      }
      if isDuplicate { text += ",\"duplicate\":true".utf8 }
    }
    text += "}\n".utf8
    ends.append(text.count)
  }

  private mutating func begin(_ name: StaticString) {
    text += ",\"".utf8
    name.withUTF8Buffer { text += $0 }
    text += "\":".utf8
  }

  private mutating func field(_ name: StaticString, _ value: UInt32?) {
    begin(name)
    if let value { number(value) } else { text += "null".utf8 }
  }

  private mutating func field(_ name: StaticString, _ value: String?) {
    begin(name)
    guard let value else {
      text += "null".utf8
      return
    }
    text.append(UInt8(ascii: "\""))
    JSONLiteral.escape(value.utf8, into: &text)
    text.append(UInt8(ascii: "\""))
  }

  private mutating func number(_ value: UInt32) {
    if value >= 10 { number(value / 10) }
    text.append(UInt8(ascii: "0") + UInt8(value % 10))
  }

  private func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.allSatisfy({ $0 < 0x80 }) { return true }
    return String(validating: bytes, as: UTF8.self) != nil
  }
}
