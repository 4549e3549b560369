import APNS

/// What the gateway takes and what it refuses. Judges bytes; knows no channel.
package struct Rules: Sendable {
  package var tokenSizes: ClosedRange<Int>
  /// The largest payload of commands 0 and 1.
  package var legacyPayloadMax: Int
  /// Answered with status 8.
  package var badTokens: TokenSet

  package init(
    tokenSizes: ClosedRange<Int> = 1...100, legacyPayloadMax: Int = 2048,
    badTokens: TokenSet = TokenSet()
  ) {
    self.tokenSizes = tokenSizes
    self.legacyPayloadMax = legacyPayloadMax
    self.badTokens = badTokens
  }

  var limits: FrameLimits { FrameLimits(token: tokenSizes, legacyPayload: legacyPayloadMax) }

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
      return .rejected(Rejection(badToken: frame))
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
  /// 0 where the frame carried none.
  var identifier: UInt32
  /// Where the frame itself is at fault.
  var fault: WireError?

  init(command: UInt8, fault: WireError) {
    self.command = command
    status = fault.reject
    identifier = fault.identifier ?? 0
    self.fault = fault
  }

  init(badToken frame: Frame) {
    command = frame.command.rawValue
    status = 8
    identifier = frame.notification.identifier ?? 0
  }

  /// Command 0 knows no answer: the connection just ends.
  var packet: ErrorPacket? {
    command == Command.simple.rawValue
      ? nil : ErrorPacket(status: status, identifier: identifier)
  }
}
