import NIOHTTP2

/// One push: what was received on its stream, and what it turned out to be.
struct Push {
  var id: HTTP2StreamID
  var request: ReceivedPush
  /// Its `apns-id`: the provider's or one made here.
  var identifier: String
  var topic: String?
  var token: [UInt8] = []
}
