import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import Gateway

/// On a clock of its own: on a real one nobody can tell a pause from a busy machine.
@Suite struct GentleCloseTests {
  private final class CloseRecorder: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var modes: [CloseMode] = []

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      modes.append(mode)
      promise?.succeed()
    }
  }

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

  @Test func sendsThePacketBeforeThePause() throws {
    let closes = CloseRecorder()
    try Stage.certificates.prepare()
    let desk = try FaultDesk(
      FaultRules(), seed: 1, certificates: Stage.certificates, bounds: (.tls1_2, .tls1_2))
    let channel = EmbeddedChannel(handlers: [
      closes,
      BinaryHandler(
        connection: 1, rules: Rules(), faults: ConnectionFaults(desk: desk, number: 1),
        ledger: Ledger(), records: BinaryHandler.Records(), logger: Stage.silent),
    ])
    try channel.writeInbound(ByteBuffer(bytes: Frames.enhanced(3, token: [])))
    #expect(try channel.readOutbound(as: ByteBuffer.self) == ByteBuffer(bytes: [8, 2, 0, 0, 0, 3]))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(49))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.output])
  }

  /// A socket that takes nothing.
  private final class Clog: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private var promises: [EventLoopPromise<Void>] = []

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if let promise { promises.append(promise) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      for promise in promises { promise.fail(ChannelError.ioOnClosedChannel) }
    }
  }

  @Test func letsAFeedbackClientGoThatNeverReads() throws {
    let closes = CloseRecorder()
    try Stage.certificates.prepare()
    let desk = try FaultDesk(
      FaultRules(), seed: 1, certificates: Stage.certificates, bounds: (.tls1_2, .tls1_2))
    let channel = EmbeddedChannel(handlers: [
      closes, Clog(),
      FeedbackHandler(
        list: FeedbackList([FeedbackEntry(timestamp: 1, token: Frames.token)]),
        faults: ConnectionFaults(desk: desk, number: 1), ledger: Ledger(), logger: Stage.silent),
    ])
    channel.pipeline.fireUserInboundEventTriggered(
      TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.all])
  }
}
