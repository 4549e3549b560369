import BinaryServer
import NIOEmbedded
import Testing

/// Uses a clock of its own: on a real one nobody can tell a pause from a busy machine.
@Suite struct GentleCloseTests {
  @Test func pausesThenReadsOnThenCloses() throws {
    let closes = CloseRecorder()
    let channel = EmbeddedChannel(handler: closes)
    GentleClose.begin(channel, after: GentleClose.pause)
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
