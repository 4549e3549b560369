import NIOCore
import NIOHTTP2

/// Closes an HTTP/2 connection that had no stream for `limit`. All calls are made on the
/// connection's event loop.
final class StreamsIdle: NIOHTTP2StreamDelegate, @unchecked Sendable {
  private let limit: TimeAmount
  private let channel: any Channel
  private var count = 0
  private var deadline: Scheduled<Void>?

  init(_ limit: TimeAmount, _ channel: any Channel) {
    self.limit = limit
    self.channel = channel
    begin()
  }

  private func begin() {
    deadline = channel.eventLoop.scheduleTask(in: limit) { [channel] in
      channel.close(promise: nil)
    }
  }

  func streamCreated(_ id: HTTP2StreamID, channel: any Channel) {
    count += 1
    deadline?.cancel()
  }

  func streamClosed(_ id: HTTP2StreamID, channel: any Channel) {
    count -= 1
    if count == 0 { begin() }
  }
}
