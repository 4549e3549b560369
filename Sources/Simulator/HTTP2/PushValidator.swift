import BinaryServer
import NIOCore

/// Decides the outcome of each push of a connection by its headers, its body and the faults in
/// force.
final class PushValidator {
  enum Decision {
    case accepted
    /// For 410: when the device was found gone, in UNIX milliseconds.
    case refused(PushReason, since: Int64?)
    case reset
  }

  private let authority: ConnectionAuthority
  private let services: HTTP2Services
  private let faults: ConnectionFaults
  /// The client has a certificate, or sent a good provider token.
  private(set) var isAuthorityProven = false

  init(authority: ConnectionAuthority, services: HTTP2Services, faults: ConnectionFaults) {
    self.authority = authority
    self.services = services
    self.faults = faults
  }

  /// The signing key of the last good provider token.
  var lastKey: String? { authority.lastKey }

  /// Fills in the push's token and topic, or its channel management request.
  func validate(_ push: inout Push) -> Decision {
    if let reason = faultOfHeaders(&push) ?? faultOfBody(push) ?? faultOfChannel(push) {
      return .refused(reason, since: nil)
    }
    if let device = gone(push.token) ?? services.rejections.take(push.token) {
      return .refused(device.reason, since: device.reason.tellsTime ? device.time : nil)
    }
    if faults.mayReject, let reason = push.addressee.withUnsafeBytes(faults.badReason) {
      var time: Int64?
      if reason.tellsTime, !push.token.isEmpty {
        time = WallClock.milliseconds
        services.feedback.append(
          FeedbackEntry(timestamp: WallClock.seconds, token: push.token))
      }
      return .refused(reason, since: time)
    }
    return faults.isReset() ? .reset : .accepted
  }

  /// nil as long as pushes to a gone device are accepted.
  private func gone(_ token: [UInt8]) -> RejectedDevices.Entry? {
    guard let device = services.unregistered[token] else { return nil }
    let since = WallClock.milliseconds - device.time
    return since >= faults.goneDelay(of: token) ? device : nil
  }

  private func faultOfHeaders(_ push: inout Push) -> PushReason? {
    let rules = services.rules
    let form = faultOfForm(&push)
    if form == .badPath || form == .methodNotAllowed || form == .duplicateHeaders { return form }
    let now = Int64(WallClock.seconds)
    if let reason = authority.fault(of: push.request, at: now, faults.faults) { return reason }
    isAuthorityProven = true
    if let form { return form }
    if let app = push.app {
      push.topic = app
      return authority.fault(ofApp: app) ?? rules.fault(ofApp: app)
        ?? services.broadcasts.fault(ofApp: app)
    }
    switch authority.topic(of: push.request) {
    case .failure(let fault): return fault.reason
    case .success(let topic): push.topic = topic
    }
    return rules.fault(ofToken: push.token) ?? rules.fault(ofTopic: push.topic ?? "")
      ?? faultOfType(push)
  }

  private func faultOfType(_ push: Push) -> PushReason? {
    guard let type = push.request.type, let topic = push.topic else { return nil }
    return TopicKind.takes(type, topic, among: authority.topics ?? []) ? nil : .invalidPushType
  }

  private func faultOfForm(_ push: inout Push) -> PushReason? {
    if services.managesChannels {
      return ChannelRules.fault(of: push.request, &push.channelRequest)
    }
    if push.request.broadcastApp != nil { return BroadcastRules.fault(of: push.request) }
    return services.rules.fault(of: push.request, &push.token)
  }

  private func faultOfBody(_ push: Push) -> PushReason? {
    if push.isChannelRequest { return nil }
    return push.request.payload.withUnsafeReadableBytes { payload in
      services.rules.fault(ofPayload: payload, push.request.type, topic: push.topic)
        ?? (push.app == nil ? nil : BroadcastRules.fault(ofPayload: payload))
    }
  }

  /// Checked again on acceptance, because the channel may be deleted before.
  private func faultOfChannel(_ push: Push) -> PushReason? {
    if let channelRequest = push.channelRequest {
      return services.broadcasts.fault(of: channelRequest)
    }
    return push.app == nil ? nil : services.broadcasts.fault(ofBroadcast: push.request)
  }

  // MARK: Effects of an accepted push

  private static let liveActivity = "liveactivity"

  /// Carries out a channel management request, or delivers a push about a Live Activity to devices.
  /// Returns the reason for a failure; nil on success.
  func carryOut(_ push: inout Push) -> PushReason? {
    if let channelRequest = push.channelRequest {
      switch services.broadcasts.carryOut(channelRequest) {
      case .success(let result): push.result = result
      case .failure(let fault): return fault.reason
      }
    } else if push.request.broadcastApp != nil {
      switch services.broadcasts.send(push.request) {
      case .success(let devices): push.devices = devices
      case .failure(let fault): return fault.reason
      }
    } else if push.request.type == Self.liveActivity {
      push.request.payload.withUnsafeReadableBytes {
        services.broadcasts.push($0, to: push.token, topic: push.topic ?? "")
      }
    }
    return nil
  }
}
