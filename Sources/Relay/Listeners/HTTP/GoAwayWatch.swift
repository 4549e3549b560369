import NIOCore

/// Stands between the socket and HTTP/2, and closes a connection after our GOAWAY, which is sent to
/// a client that breaks the protocol. NIO's HTTP/2 handler would buffer all later input and never
/// parse it.
final class GoAwayWatch: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private static let headBytes = 9
  private static let goAway: UInt8 = 7
  /// How long a client may take to read the reason.
  private static let patience = TimeAmount.seconds(2)

  /// The written part of a frame's header.
  private var head: [UInt8] = []
  /// The bytes of the frame that are not written yet.
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
    // After the write that is in progress.
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
