import NIOCore
import NIOTLS

/// Lets nobody stay who does not get on with the handshake.
final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private static let limit = TimeAmount.seconds(10)
  private let delay: TimeAmount
  private var deadline: Scheduled<Void>?

  /// The client is not to blame for a delay of ours.
  init(delay: TimeAmount = .zero) { self.delay = delay }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: Self.limit + delay) {
      channel.close(promise: nil)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    if case .handshakeCompleted = event as? TLSUserEvent {
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
  }
}
