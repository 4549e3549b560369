import JSON
import NIOCore

/// Sits between NIO's HTTP/2 and TLS. Joins everything written between two flushes, because TLS
/// would make a record of each frame. Adds the stream limit to SETTINGS. Drops PING
/// acknowledgements if a fault demands it.
final class FrameWriter: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private static let pongSize = 17
  private static let ping: UInt8 = 6
  private static let ack: UInt8 = 1
  private static let goAway: UInt8 = 7
  private static let settings: UInt8 = 4
  private static let headSize = 9
  private static let streamsMax: UInt16 = 3

  private let faults: ConnectionFaults
  private let limit: StreamsLimit
  private var hasBegun = false
  private var joined = ByteBuffer()
  private var promises: [EventLoopPromise<Void>] = []
  private var context: ChannelHandlerContext?

  init(faults: ConnectionFaults, limit: StreamsLimit) {
    self.faults = faults
    self.limit = limit
  }

  /// NIO writes frames one by one, or a frame's head and then its data.
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    if faults.faults.noPong, Self.isPong(bytes) {
      promise?.succeed()
      return
    }
    if Self.isSettings(bytes) {
      // NIO's first SETTINGS, which remove its limit, are not for the client. `FrameFilter`
      // acknowledges them.
      guard hasBegun else {
        hasBegun = true
        promise?.succeed()
        return
      }
      if let streams = limit.takeNext() { Self.add(streams, to: &bytes) }
    }
    joined.writeBuffer(&bytes)
    if let promise { promises.append(promise) }
  }

  /// Sends GOAWAY without NIO's knowledge: NIO would answer the next frame with an error.
  func goAway(last: UInt32, error: UInt8, reason: String?) {
    guard let context else { return }
    let text = reason.map { "{\"reason\":\(JSONLiteral.string($0))}" } ?? ""
    let size = UInt32(8 + text.utf8.count)
    joined.writeMultipleIntegers(size << 8 | UInt32(Self.goAway), UInt8(0), UInt32(0), last)
    joined.writeInteger(UInt32(error))
    joined.writeString(text)
    flush(context: context)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func flush(context: ChannelHandlerContext) {
    if joined.readableBytes > 0 {
      let written = promises.isEmpty ? nil : context.eventLoop.makePromise(of: Void.self)
      for promise in promises { written?.futureResult.cascade(to: promise) }
      promises.removeAll()
      let whole = joined
      joined = context.channel.allocator.buffer(capacity: 256)
      context.write(wrapOutboundOut(whole), promise: written)
    }
    context.flush()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    let left = promises
    promises = []
    for promise in left { promise.fail(ChannelError.ioOnClosedChannel) }
  }

  /// False for an acknowledgement of SETTINGS.
  private static func isSettings(_ frame: ByteBuffer) -> Bool {
    let start = frame.readerIndex
    return frame.readableBytes >= headSize
      && frame.getInteger(at: start + 3, as: UInt8.self) == settings
      && frame.getInteger(at: start + 4, as: UInt8.self) == 0
      && frame.getInteger(at: start, as: UInt32.self).map { Int($0 >> 8) + headSize }
        == frame.readableBytes
  }

  private static func add(_ streams: Int, to frame: inout ByteBuffer) {
    let size = UInt32(frame.readableBytes - headSize + 6)
    frame.setInteger(size << 8 | UInt32(settings), at: frame.readerIndex)
    frame.writeInteger(streamsMax)
    frame.writeInteger(UInt32(clamping: streams))
  }

  private static func isPong(_ frame: ByteBuffer) -> Bool {
    let start = frame.readerIndex
    return frame.readableBytes == pongSize
      && frame.getInteger(at: start + 3, as: UInt8.self) == ping
      && frame.getInteger(at: start + 4, as: UInt8.self) == ack
  }
}
