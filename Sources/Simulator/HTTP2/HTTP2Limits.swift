import NIOCore
import NIOHTTP2

/// NIO's HTTP/2, with limits high enough for tests of clients.
enum HTTP2Limits {
  /// Per half minute. A client may send on after GOAWAY, cancel a thousand streams at once, or send
  /// many PINGs.
  private static let most = 4000

  static func handler(_ settings: HTTP2Settings) -> NIOHTTP2Handler {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = settings
    connection.maximumSequentialEmptyDataFrames = 100
    connection.maximumConnectionGlitches = most
    // Clients may still send on streams that were refused.
    connection.maximumRecentlyResetStreams = most
    connection.controlFrameRateLimit.maximumCount = most
    var stream = NIOHTTP2Handler.StreamConfiguration()
    stream.streamErrorRateLimit.maximumCount = most
    stream.streamResetFrameRateLimit.maximumCount = most
    return NIOHTTP2Handler(
      mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
  }
}
