import APNS

/// What the gateway takes and what it refuses. Judges bytes; knows no channel.
package struct Rules: Sendable {
  package var tokenSizes: ClosedRange<Int>
  /// The largest payload of commands 0 and 1.
  package var legacyPayloadMax: Int
  /// That of command 2.
  package var framedPayloadMax = 2048
  /// Answered with status 8.
  package var badTokens: TokenSet
  /// Whether payloads must be JSON with an object `aps`, or a text `mdm`.
  package var checksPayloads = false
  package var topic: TopicRule?

  package init(
    tokenSizes: ClosedRange<Int> = 1...100, legacyPayloadMax: Int = 2048,
    badTokens: TokenSet = TokenSet()
  ) {
    self.tokenSizes = tokenSizes
    self.legacyPayloadMax = legacyPayloadMax
    self.badTokens = badTokens
  }

  var limits: FrameLimits {
    FrameLimits(
      token: tokenSizes, legacyPayload: legacyPayloadMax, framedPayload: framedPayloadMax)
  }

  /// The verdict on the frame that `bytes` begins with.
  func judge(_ bytes: UnsafeRawBufferPointer, limits: FrameLimits) -> Verdict {
    let frame: Frame
    do throws(WireError) {
      guard let whole = try FrameDecoder.decode(bytes, limits: limits) else { return .incomplete }
      frame = whole
    } catch {
      return .rejected(Rejection(command: bytes.first ?? 0, fault: error))
    }
    if badTokens.contains(frame.notification.token) {
      return .rejected(Rejection(frame, status: 8, reason: "a bad token"))
    }
    if checksPayloads, let fault = PayloadCheck.fault(of: frame.notification) {
      return .rejected(Rejection(frame, status: 1, reason: fault))
    }
    return .accepted(frame)
  }
}

/// What becomes of the next notification on a connection.
enum Verdict {
  /// Not all of it has come yet.
  case incomplete
  case accepted(Frame)
  case rejected(Rejection)
}

/// A notification refused, and why.
struct Rejection {
  /// As the frame had it, which may be none of Apple's.
  var command: UInt8
  var status: UInt8
  /// nil where the frame carried none.
  var carried: UInt32?
  /// Its bytes are those that were judged; nil where they are no frame.
  var frame: Frame?
  /// For people.
  var reason: String
  var isSentinel = false

  init(command: UInt8, fault: WireError) {
    self.command = command
    status = fault.reject
    carried = fault.identifier
    reason = "\(fault.reason), at byte \(fault.offset) of the frame"
    isSentinel = fault.reason == .missingToken
  }

  init(_ frame: Frame, status: UInt8, reason: String) {
    command = frame.command.rawValue
    self.status = status
    carried = frame.notification.identifier
    self.frame = frame
    self.reason = reason
  }

  /// 0 where the frame carried none.
  var identifier: UInt32 { carried ?? 0 }

  /// Command 0 knows no answer: the connection just ends.
  var packet: ErrorPacket? {
    command == Command.simple.rawValue
      ? nil : ErrorPacket(status: status, identifier: identifier)
  }
}
