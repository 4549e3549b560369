import JSON
import NIOCore

/// Validates channel management requests without looking at channels.
enum ChannelRules {
  /// The longest request body; Apple names no limit.
  private static let bodyMax = 4096
  private static let prefix = "/1/apps/"
  private static let pushType = "LiveActivity"

  /// What a path refers to.
  private enum Place {
    case channels(app: String)
    case all(app: String)
  }

  private static func place(_ path: String) -> Place? {
    guard path.hasPrefix(prefix) else { return nil }
    let parts = path.dropFirst(prefix.count).split(
      separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    switch parts[1] {
    case "channels": return .channels(app: String(parts[0]))
    case "all-channels": return .all(app: String(parts[0]))
    default: return nil
    }
  }

  /// The reason if the request is malformed; nil otherwise. Fills in `channelRequest`.
  static func fault(of request: ReceivedPush, _ channelRequest: inout ChannelManagementRequest?)
    -> PushReason?
  {
    guard let place = place(request.path) else { return .badPath }
    switch (place, request.method) {
    case (.channels, "POST"), (.channels, "GET"), (.channels, "DELETE"), (.all, "GET"): break
    default: return .methodNotAllowed
    }
    if request.hasDuplicates { return .duplicateHeaders }
    if let identifier = request.requestIdentifier, !PushIdentifier.isOne(identifier) {
      return .badMessageId
    }
    switch place {
    case .all(let app):
      if !PushRules.isTopic(app) { return .badTopic }
      channelRequest = .list(app: app)
    case .channels(let app):
      if !PushRules.isTopic(app) { return .badTopic }
      if request.method == "POST" { return faultOfNew(request, app, &channelRequest) }
      guard let channel = request.channel, !channel.isEmpty else { return .missingChannelId }
      if ChannelIdentifier.bytes(of: channel) == nil { return .badChannelId }
      channelRequest =
        request.method == "GET"
        ? .show(app: app, channel: channel) : .delete(app: app, channel: channel)
    }
    return nil
  }

  /// Apple lists no reason for another kind of body or an unknown policy. Both get PayloadEmpty,
  /// like a push that `--check-payload` rejects.
  private static func faultOfNew(
    _ request: ReceivedPush, _ app: String, _ channelRequest: inout ChannelManagementRequest?
  ) -> PushReason? {
    if request.payloadCount > bodyMax { return .payloadTooLarge }
    guard let body = try? JSONParser.read(request.payload.readableBytesView),
      case .object = body.content
    else { return .payloadEmpty }
    guard let type = body["push-type"] else { return .missingPushType }
    if type.string != pushType { return .invalidPushType }
    guard
      let storage = body["message-storage-policy"]?.integer.flatMap(
        ChannelManagementRequest.Storage.init(rawValue:))
    else { return .payloadEmpty }
    channelRequest = .create(app: app, storage)
    return nil
  }
}
