import NIOCore

/// Stands between HTTP/2 and TLS and, by order, keeps the answers to PING to itself. Frames
/// come to it one by one.
final class PongFilter: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private static let size = 17
  private static let ping: UInt8 = 6
  private static let ack: UInt8 = 1

  private let faults: ConnectionFaults

  init(faults: ConnectionFaults) { self.faults = faults }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if faults.faults.noPong, Self.isPong(unwrapOutboundIn(data)) {
      promise?.succeed()
    } else {
      context.write(data, promise: promise)
    }
  }

  private static func isPong(_ frame: ByteBuffer) -> Bool {
    let start = frame.readerIndex
    return frame.readableBytes == size
      && frame.getInteger(at: start + 3, as: UInt8.self) == ping
      && frame.getInteger(at: start + 4, as: UInt8.self) == ack
  }
}
