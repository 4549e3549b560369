import NIOCore
import NIOHTTP2

/// A push or a channel management request: the data received on its stream, and the parsed result.
struct Push {
  var id: HTTP2StreamID
  var request: ReceivedPush
  /// The `apns-id` or `apns-request-id`: the provider's, or a generated one.
  var identifier: String
  /// `apns-unique-id`; nil before it is accepted, and in production.
  var uniqueIdentifier: String?
  var topic: String?
  var token: [UInt8] = []
  /// How many devices a broadcast went to.
  var devices = 0
  /// It came to the management of channels.
  var isChannelRequest = false
  var channelRequest: ChannelManagementRequest?
  var result: ChannelResult?
  /// When its response is sent; nil as the faults demand.
  var delay: TimeAmount?

  /// The bytes of the device token or channel ID, which identify the addressee.
  var addressee: [UInt8] {
    token.isEmpty ? request.channel.flatMap(ChannelIdentifier.bytes) ?? [] : token
  }

  /// The app whose channel a broadcast or an order is for.
  var app: String? { channelRequest?.app ?? request.broadcastApp.map(String.init) }

  /// The topic that the request names itself.
  var namedTopic: String? { request.broadcastApp.map(String.init) ?? request.topic }

  /// Only pushes to a device have `apns-id`.
  var hasRequestIdentifier: Bool { isChannelRequest || request.broadcastApp != nil }
}
