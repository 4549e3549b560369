import BinaryServer
import NIOCore

/// Detects, between the socket and TLS, whether the client has read everything. It has if its
/// kernel has acknowledged every byte when it closes the connection, and no RST follows: closing a
/// socket with unread bytes causes one.
final class ReadingWitness: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private var report: ((Bool) -> Void)?
  private var isBroken = false
  /// The client has sent close_notify, and every byte was acknowledged.
  private var isProven = false

  /// Call it when everything is in the socket buffer. `report` is called once, when the client has
  /// closed the connection or it broke.
  func expectEnd(_ report: @escaping (Bool) -> Void) { self.report = report }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if mode == .output {
      // TLS has sent close_notify. TCP is closed only after the client closes, so that the kernel
      // can still report acknowledged bytes.
      promise?.succeed()
    } else if report != nil, !isProven, hasClientClosed(context) {
      promise?.succeed()
      look(context) { me, context, isRead in
        me.isProven = isRead
        if !isRead { me.end(false) }
        context.close(mode: isRead ? .output : .all, promise: nil)
      }
    } else {
      end(false)
      context.close(mode: mode, promise: promise)
    }
  }

  private func hasClientClosed(_ context: ChannelHandlerContext) -> Bool {
    context.pipeline.syncOperations.openSSL?.hasClientClosed ?? false
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    // A client that closes before the whole list was sent proves no reading.
    guard case .inputClosed? = event as? ChannelEvent, report != nil else { return }
    look(context) { me, context, isRead in
      me.end(isRead)
      context.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    isBroken = true
    context.fireErrorCaught(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end(isProven)
    context.fireChannelInactive()
  }

  private func look(
    _ context: ChannelHandlerContext,
    _ then: @escaping (ReadingWitness, ChannelHandlerContext, Bool) -> Void
  ) {
    guard let options = context.channel as? any SocketOptionProvider else {
      return then(self, context, false)
    }
    let bound = NIOLoopBound((self, context, then), eventLoop: context.eventLoop)
    ConnectionInfo.read(options).whenComplete { result in
      let (me, context, then) = bound.value
      let isRead = (try? result.get()).map { $0.unacknowledged == 0 && $0.unsent == 0 } ?? false
      then(me, context, !me.isBroken && isRead)
    }
  }

  private func end(_ isRead: Bool) {
    let report = report
    self.report = nil
    report?(isRead && !isBroken)
  }
}
