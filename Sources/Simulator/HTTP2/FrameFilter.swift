import NIOCore

/// Sits between TLS and NIO's HTTP/2. After GOAWAY it drops frames of streams above the last one,
/// which NIO would answer with errors. Records which SETTINGS the client acknowledges.
final class FrameFilter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let preface = 24
  private static let headSize = 9
  private static let data: UInt8 = 0
  private static let headers: UInt8 = 1
  private static let settings: UInt8 = 4
  private static let ack: UInt8 = 1

  private let faults: ConnectionFaults
  private let limit: StreamsLimit
  private var hasBegun = false
  /// NIO's first SETTINGS never reach the client. This handler acknowledges them for the client,
  /// after the client's first SETTINGS.
  private var owesAck = false
  /// Part of a frame's head.
  private var pending = ByteBuffer()
  /// Bytes left of the current frame.
  private var left = preface
  private var isDropping = false
  /// nil lets everything pass.
  private var last: UInt32?
  private var dropped = 0
  private var droppedData = 0

  init(faults: ConnectionFaults, limit: StreamsLimit) {
    self.faults = faults
    self.limit = limit
  }

  func close(above last: UInt32) { self.last = last }

  /// Requests dropped since the last call.
  func takeDropped() -> Int {
    defer { dropped = 0 }
    return dropped
  }

  /// Bytes of dropped DATA frames, which count against the connection's window.
  func takeDroppedData() -> Int {
    defer { droppedData = 0 }
    return droppedData
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    if pending.readableBytes > 0 {
      pending.writeBuffer(&bytes)
      bytes = pending
      pending = ByteBuffer()
    }
    // A frame among these bytes may lead to GOAWAY, so they are passed on one by one.
    if last != nil || faults.faults.goawayAfter != nil || owesAck || !hasBegun || limit.isWaiting {
      while let frame = piece(&bytes) { context.fireChannelRead(wrapInboundOut(frame)) }
    } else if let whole = frames(&bytes) {
      context.fireChannelRead(wrapInboundOut(whole))
    }
    // A copy, because TLS reuses its buffer.
    pending.writeBuffer(&bytes)
  }

  /// Consumes all bytes up to an incomplete head.
  private func frames(_ bytes: inout ByteBuffer) -> ByteBuffer? {
    var at = bytes.readerIndex
    let end = bytes.writerIndex
    while true {
      let share = min(left, end - at)
      at += share
      left -= share
      guard end - at >= Self.headSize, let size = Self.size(bytes, at) else { break }
      left = Self.headSize + size
    }
    // Ends within a frame that passes.
    let count = (left > 0 ? end : at) - bytes.readerIndex
    isDropping = false
    return count > 0 ? bytes.readSlice(length: count) : nil
  }

  /// The available part of the next frame that passes.
  private func piece(_ bytes: inout ByteBuffer) -> ByteBuffer? {
    if owesAck, left == 0 {
      owesAck = false
      return ByteBuffer(bytes: [0, 0, 0, Self.settings, Self.ack, 0, 0, 0, 0])
    }
    while bytes.readableBytes > 0 {
      if left == 0 {
        guard begin(bytes) else { return nil }
      }
      let share = min(left, bytes.readableBytes)
      left -= share
      let piece = bytes.readSlice(length: share)
      if !isDropping { return piece }
    }
    return nil
  }

  /// Reads a frame's head; false if it is incomplete.
  private func begin(_ bytes: ByteBuffer) -> Bool {
    let at = bytes.readerIndex
    guard bytes.readableBytes >= Self.headSize, let size = Self.size(bytes, at),
      let kind = bytes.getInteger(at: at + 3, as: UInt8.self),
      let stream = bytes.getInteger(at: at + 5, as: UInt32.self)
    else { return false }
    left = Self.headSize + size
    if kind == Self.settings {
      if bytes.getInteger(at: at + 4, as: UInt8.self).map({ $0 & Self.ack != 0 }) == true {
        limit.acknowledge()
      } else if !hasBegun {
        owesAck = true
      }
    }
    hasBegun = true
    isDropping = last.map { stream & 0x7FFF_FFFF > $0 } ?? false
    if isDropping, kind == Self.headers { dropped += 1 }
    if isDropping, kind == Self.data { droppedData += size }
    return true
  }

  private static func size(_ bytes: ByteBuffer, _ at: Int) -> Int? {
    bytes.getInteger(at: at, as: UInt32.self).map { Int($0 >> 8) }
  }
}
