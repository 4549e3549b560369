import BinaryServer
import NIOEmbedded
import Testing

/// Uses a simulated clock: on a real one, a pause looks the same as a busy machine.
@Suite struct GracefulCloseTests {
  @Test func pausesThenKeepsReadingThenCloses() throws {
    let closes = CloseRecorder()
    let channel = EmbeddedChannel(handler: closes)
    GracefulClose.begin(channel, after: GracefulClose.pause)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(49))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.output])
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1999))
    #expect(closes.modes == [.output])
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.output, .all])
  }
}
