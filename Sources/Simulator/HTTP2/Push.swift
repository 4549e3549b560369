import NIOHTTP2

/// One push or channel order: what was received on its stream, and what it turned out to be.
struct Push {
  var id: HTTP2StreamID
  var request: ReceivedPush
  /// Its `apns-id`, or `apns-request-id`: the provider's or one made here.
  var identifier: String
  /// `apns-unique-id`; nil before it is accepted, and in production.
  var uniqueIdentifier: String?
  var topic: String?
  var token: [UInt8] = []
  /// How many devices a broadcast went to.
  var devices = 0
  /// It came to the management of channels.
  var isOrder = false
  var order: ChannelOrder?
  var result: ChannelResult?

  /// The bytes of the device token or channel ID, which identify the addressee.
  var addressee: [UInt8] {
    token.isEmpty ? request.channel.flatMap(ChannelIdentifier.bytes) ?? [] : token
  }

  /// The app whose channel a broadcast or an order is for.
  var app: String? { order?.app ?? request.broadcastApp.map(String.init) }

  /// The topic that the request names itself.
  var namedTopic: String? { request.broadcastApp.map(String.init) ?? request.topic }

  /// `apns-id` belongs to pushes to a device.
  var hasRequestIdentifier: Bool { isOrder || request.broadcastApp != nil }
}
