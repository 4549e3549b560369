import BinaryServer
import NIOCore

/// Decides what becomes of each push of a connection: by its headers, by its body, and by the
/// faults in force.
final class PushJudge {
  enum Verdict {
    case accepted
    /// UNIX milliseconds since when the device is gone, in answers of 410.
    case refused(PushReason, since: Int64?)
    /// Answered by RST_STREAM.
    case reset
  }

  private let authority: ConnectionAuthority
  private let services: HTTP2Services
  private let faults: ConnectionFaults
  /// The client has a certificate, or showed a good provider token.
  private(set) var isAuthorityProven = false

  init(authority: ConnectionAuthority, services: HTTP2Services, faults: ConnectionFaults) {
    self.authority = authority
    self.services = services
    self.faults = faults
  }

  /// The key that the last good provider token was signed with.
  var lastKey: String? { authority.lastKey }

  /// Fills in the push's token and topic.
  func judge(_ push: inout Push) -> Verdict {
    if let reason = faultOfHeaders(&push) ?? faultOfBody(push) {
      return .refused(reason, since: nil)
    }
    if let device = services.unregistered[push.token] {
      return .refused(device.reason, since: device.time)
    }
    if faults.isJudging, let reason = push.token.withUnsafeBytes(faults.badReason) {
      var time: Int64?
      if reason.tellsTime {
        time = WallClock.milliseconds
        services.feedback.append(
          FeedbackEntry(timestamp: WallClock.seconds, token: push.token))
      }
      return .refused(reason, since: time)
    }
    return faults.isReset() ? .reset : .accepted
  }

  private func faultOfHeaders(_ push: inout Push) -> PushReason? {
    let rules = services.rules
    let form = rules.fault(of: push.request, &push.token)
    if form == .badPath || form == .methodNotAllowed || form == .duplicateHeaders { return form }
    let now = Int64(WallClock.seconds)
    if let reason = authority.fault(of: push.request, at: now, faults.faults) { return reason }
    isAuthorityProven = true
    if let form { return form }
    switch authority.topic(of: push.request) {
    case .failure(let fault): return fault.reason
    case .success(let topic): push.topic = topic
    }
    return rules.fault(ofToken: push.token) ?? rules.fault(ofTopic: push.topic ?? "")
  }

  private func faultOfBody(_ push: Push) -> PushReason? {
    push.request.payload.withUnsafeReadableBytes(services.rules.fault(ofPayload:))
  }
}
