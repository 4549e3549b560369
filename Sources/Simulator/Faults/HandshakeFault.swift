import BinaryServer
import Logging
import NIOCore

/// Delays the answer to the client's hello, or answers it with an alert.
final class HandshakeFault: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let faults: ConnectionFaults
  private let delay: TimeAmount
  private var alert: UInt8?
  private let logger: Logger
  private var hello = ByteBuffer()
  private var wait: Scheduled<Void>?

  /// nil if the faults do not concern the handshake.
  init?(_ faults: ConnectionFaults, logger: Logger) {
    alert = faults.faults.handshakeAlert
    if alert == nil, faults.handshakeDelay == nil { return nil }
    delay = faults.handshakeDelay ?? .zero
    self.faults = faults
    self.logger = logger
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var incoming = unwrapInboundIn(data)
    hello.writeBuffer(&incoming)
    if wait != nil { return }
    wait = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { [self] in
      go(on: context)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .changed = event as? FaultEvent, let wait {
      faults.refresh()
      alert = faults.faults.handshakeAlert
      if faults.handshakeDelay == nil {
        wait.cancel()
        go(on: context)
      }
    }
    // The client has closed, and TLS does not know it yet.
    if case .inputClosed = event as? ChannelEvent { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func handlerRemoved(context: ChannelHandlerContext) { wait?.cancel() }

  private func go(on context: ChannelHandlerContext) {
    guard context.channel.isActive else { return }
    if let alert {
      logger.info("answered the client's hello with alert \(alert)")
      let record = ByteBuffer(bytes: TLSAlert.record(alert))
      hello.clear()
      context.writeAndFlush(wrapOutboundOut(record), promise: nil)
      // Closes the socket below TLS, which would send an alert.
      GracefulClose.begin(context.channel, after: .zero, ending: .fin)
    } else {
      context.fireChannelRead(wrapInboundOut(hello))
      context.fireChannelReadComplete()
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
  }
}
