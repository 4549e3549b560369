import NIOCore

/// Splits the TLS input so that each piece becomes a separate TLS record.
final class RecordSplitter: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let faults: ConnectionFaults

  init(faults: ConnectionFaults) { self.faults = faults }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard let size = faults.faults.recordSize else {
      context.write(data, promise: promise)
      return
    }
    var buffer = unwrapOutboundIn(data)
    while buffer.readableBytes > size, let piece = buffer.readSlice(length: size) {
      context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
    }
    context.write(wrapOutboundOut(buffer), promise: promise)
  }
}
