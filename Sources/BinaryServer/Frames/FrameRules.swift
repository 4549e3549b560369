import APNS

/// The frames that a server accepts. Checks bytes, independently of connections.
package struct FrameRules: Sendable {
  package var tokenSizes = 1...100
  /// The largest payload of commands 0 and 1.
  package var legacyPayloadMax: Int
  /// The largest payload of command 2.
  package var framedPayloadMax = 2048
  /// Tokens rejected with status 8.
  package var badTokens = TokenSet()
  /// Returns a payload's error other than its size; nil if it is valid. Such notifications are
  /// rejected with status 1, processing error, because Apple's list has no specific status.
  package var payloadFault: (@Sendable (WireNotification) -> String?)?

  package init(legacyPayloadMax: Int = 2048) { self.legacyPayloadMax = legacyPayloadMax }

  package var limits: FrameLimits {
    FrameLimits(
      token: tokenSizes, legacyPayload: legacyPayloadMax, framedPayload: framedPayloadMax)
  }

  /// Checks the frame at the start of `bytes`.
  func check(_ bytes: UnsafeRawBufferPointer, limits: FrameLimits) -> FrameCheck {
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
    if let payloadFault, let fault = payloadFault(frame.notification) {
      return .rejected(Rejection(frame, status: 1, reason: fault))
    }
    return .accepted(frame)
  }
}

enum FrameCheck {
  case incomplete
  case accepted(Frame)
  case rejected(Rejection)
}
