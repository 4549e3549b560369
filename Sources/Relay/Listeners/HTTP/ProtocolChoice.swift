import NIOCore

/// Detects the HTTP version by the first bytes of a connection: HTTP/2 without TLS begins with a
/// preface (RFC 9113, 3.3), which no HTTP/1 request resembles.
final class ProtocolChoice: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  enum Version { case http1, http2 }

  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private let limit: TimeAmount
  private let choose: (Version, any Channel) throws -> Void
  private var seen = ByteBuffer()
  private var isChosen = false
  private var deadline: Scheduled<Void>?

  /// `limit` is how long the detection may take.
  init(within limit: TimeAmount, _ choose: @escaping (Version, any Channel) throws -> Void) {
    self.limit = limit
    self.choose = choose
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: limit) { channel.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var more = unwrapInboundIn(data)
    seen.writeBuffer(&more)
    guard !isChosen else { return }
    let start = seen.readableBytesView.prefix(Self.preface.count)
    let isPreface = start.elementsEqual(Self.preface.prefix(start.count))
    if isPreface, start.count < Self.preface.count { return }
    isChosen = true
    do {
      try choose(isPreface ? .http2 : .http1, context.channel)
    } catch {
      context.close(promise: nil)
      return
    }
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if isChosen { context.fireChannelReadComplete() } else { context.read() }
  }

  /// Passes the bytes read so far to the handlers added after this one.
  func handlerRemoved(context: ChannelHandlerContext) {
    deadline?.cancel()
    guard seen.readableBytes > 0 else { return }
    let bytes = seen
    seen.clear()
    context.fireChannelRead(wrapInboundOut(bytes))
    context.fireChannelReadComplete()
  }
}
