import APNS
import NIOCore

/// Validates broadcast requests to the HTTP/2 gateway without looking at channels.
enum BroadcastRules {
  private static let pushType = "liveactivity"

  /// The reason if the request is malformed; nil otherwise.
  static func fault(of request: ReceivedPush) -> PushReason? {
    guard let app = request.broadcastApp, !app.contains("/") else { return .badPath }
    if request.method != "POST" { return .methodNotAllowed }
    if request.hasDuplicates { return .duplicateHeaders }
    if !PushRules.isTopic(String(app)) { return .badTopic }
    if let identifier = request.requestIdentifier, !PushIdentifier.isOne(identifier) {
      return .badMessageId
    }
    guard let channel = request.channel, !channel.isEmpty else { return .missingChannelId }
    if ChannelIdentifier.bytes(of: channel) == nil { return .badChannelId }
    guard let type = request.type, !type.isEmpty else { return .missingPushType }
    if type != pushType { return .invalidPushType }
    guard let expiration = request.expiration, PushRules.isDate(expiration) else {
      return .badExpirationDate
    }
    guard let priority = request.priority, PushRules.priorities.contains(priority) else {
      return .badPriority
    }
    if request.payloadCount == 0 { return .payloadEmpty }
    if request.payloadCount > PushRules.broadcastPayloadMax { return .payloadTooLarge }
    return nil
  }

  /// The reason to reject the payload. A broadcast cannot start a Live Activity; Apple lists no
  /// separate reason for that.
  static func fault(ofPayload payload: UnsafeRawBufferPointer) -> PushReason? {
    LiveActivityUpdate(payload)?.event == .start ? .payloadEmpty : nil
  }
}
