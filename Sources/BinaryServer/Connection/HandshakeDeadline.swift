import NIOCore
import NIOTLS

/// Closes a connection whose TLS handshake takes too long.
package final class HandshakeDeadline: ChannelInboundHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer

  private static let limit = TimeAmount.seconds(10)
  private let extra: TimeAmount
  private var deadline: Scheduled<Void>?

  /// `extra` is a delay that the server itself causes.
  package init(extra: TimeAmount = .zero) { self.extra = extra }

  package func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: Self.limit + extra) {
      channel.close(promise: nil)
    }
  }

  package func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    if case .handshakeCompleted = event as? TLSUserEvent {
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
  }
}
