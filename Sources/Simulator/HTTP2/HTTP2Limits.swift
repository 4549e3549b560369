import NIOCore
import NIOHTTP2

/// NIO's HTTP/2, with limits high enough for tests of clients.
enum HTTP2Limits {
  /// Per half minute. A client may continue to send after GOAWAY, cancel a thousand streams
  /// together, or send many PINGs.
  private static let limit = 4000

  static func handler(_ settings: HTTP2Settings) -> NIOHTTP2Handler {
    var connection = NIOHTTP2Handler.ConnectionConfiguration()
    connection.initialSettings = settings
    connection.maximumSequentialEmptyDataFrames = 100
    connection.maximumConnectionGlitches = limit
    // Clients may still send on refused streams.
    connection.maximumRecentlyResetStreams = limit
    connection.controlFrameRateLimit.maximumCount = limit
    var stream = NIOHTTP2Handler.StreamConfiguration()
    stream.streamErrorRateLimit.maximumCount = limit
    stream.streamResetFrameRateLimit.maximumCount = limit
    return NIOHTTP2Handler(
      mode: .server, connectionConfiguration: connection, streamConfiguration: stream)
  }
}
