import NIOCore
import NIOHTTP2

/// HTTP/2 itself, with as much patience as tests of clients need.
enum HTTP2Limits {
  /// In half a minute. A client may well send on for a while after GOAWAY, give up a thousand
  /// streams at once, or PING much.
  private static let most = 4000

  static func handler(_ settings: HTTP2Settings) -> NIOHTTP2Handler {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = settings
    connection.maximumSequentialEmptyDataFrames = 100
    connection.maximumConnectionGlitches = most
    // What a client still sends on streams that were refused is no error.
    connection.maximumRecentlyResetStreams = most
    connection.controlFrameRateLimit.maximumCount = most
    var stream = NIOHTTP2Handler.StreamConfiguration()
    stream.streamErrorRateLimit.maximumCount = most
    stream.streamResetFrameRateLimit.maximumCount = most
    return NIOHTTP2Handler(
      mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
  }
}
