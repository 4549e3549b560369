import BinaryServer
import Logging
import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@Suite struct FeedbackHandlerTests {
  private final class OneDevice: FeedbackDelegate {
    func takeEntries(_ context: ChannelHandlerContext) -> EventLoopFuture<[FeedbackEntry]> {
      context.eventLoop.makeSucceededFuture([FeedbackEntry(timestamp: 1, token: [2, 3])])
    }
    func handshakeFailed() {}
  }

  /// A socket that accepts no bytes.
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

  private static func handler() -> FeedbackHandler {
    FeedbackHandler(delegate: OneDevice(), logger: silent)
  }
  private static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private static let connected = TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil)

  @Test func sendsTheListThenCloses() throws {
    let closes = CloseRecorder()
    let channel = EmbeddedChannel(handlers: [closes, Self.handler()])
    channel.pipeline.fireUserInboundEventTriggered(Self.connected)
    #expect(
      try channel.readOutbound(as: ByteBuffer.self)
        == ByteBuffer(bytes: [0, 0, 0, 1, 0, 2, 2, 3]))
    channel.embeddedEventLoop.advanceTime(by: GracefulClose.pause)
    #expect(closes.modes == [.output])
  }

  @Test func closesOnAClientThatNeverReads() throws {
    let closes = CloseRecorder()
    let channel = EmbeddedChannel(handlers: [closes, Clog(), Self.handler()])
    channel.pipeline.fireUserInboundEventTriggered(Self.connected)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
    #expect(closes.modes.isEmpty)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(closes.modes == [.all])
  }
}
