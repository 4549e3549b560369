import NIOCore

/// Between the socket and HTTP/2: ends a connection once our side has said GOAWAY on it, which it says
/// of a client that breaks the protocol. The handler of HTTP/2 keeps all that comes behind that, and
/// looks at none of it.
final class GoAwayWatch: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private static let headBytes = 9
  private static let goAway: UInt8 = 7
  /// A client may take so long to read the reason.
  private static let patience = TimeAmount.seconds(2)

  /// As much as was written of the head of a frame.
  private var head: [UInt8] = []
  /// Bytes of the frame that are still to be written.
  private var rest = 0
  private var isOver = false

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var isGoAway = false
    if !isOver, case .byteBuffer(let bytes) = unwrapOutboundIn(data) {
      isGoAway = hasGoAway(bytes.readableBytesView)
    }
    context.write(data, promise: promise)
    guard isGoAway else { return }
    isOver = true
    let channel = context.channel
    // Behind what is being written now.
    context.eventLoop.execute { channel.close(mode: .output, promise: nil) }
    context.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
  }

  private func hasGoAway(_ bytes: ByteBufferView) -> Bool {
    var bytes = bytes
    while !bytes.isEmpty {
      let skipped = min(rest, bytes.count)
      rest -= skipped
      bytes = bytes.dropFirst(skipped)
      let missing = bytes.prefix(Self.headBytes - head.count)
      head += missing
      bytes = bytes.dropFirst(missing.count)
      guard head.count == Self.headBytes else { break }
      if head[3] == Self.goAway { return true }
      rest = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      head.removeAll(keepingCapacity: true)
    }
    return false
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isOver { context.fireChannelRead(data) }
  }
}
