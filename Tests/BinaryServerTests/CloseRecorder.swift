import NIOCore

/// The socket end of an in-memory NIO channel: records how the channel is closed.
final class CloseRecorder: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  var modes: [CloseMode] = []

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    modes.append(mode)
    promise?.succeed()
  }
}
