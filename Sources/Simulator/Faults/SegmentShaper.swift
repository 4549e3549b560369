import Glibc
import NIOCore

/// Sits between TLS and the socket. Sends bytes in small pieces one after the other, or holds them
/// until all can be sent together.
final class SegmentShaper: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private static let gap = TimeAmount.milliseconds(1)

  private enum Act {
    case bytes(ByteBuffer, EventLoopPromise<Void>?)
    case close(CloseMode, EventLoopPromise<Void>?)
  }

  private let faults: ConnectionFaults
  private var acts: [Act] = []
  private var isHolding = false
  private var isWaiting = false

  init(faults: ConnectionFaults) { self.faults = faults }

  /// Sends nothing until `release`.
  func hold() { isHolding = true }

  /// When corked, a close sends FIN in the same segment as the held bytes.
  func release(context: ChannelHandlerContext, isCorked: Bool) {
    isHolding = false
    if isCorked { cork(context, 1) }
    var joined = ByteBuffer()
    var promises: [EventLoopPromise<Void>] = []
    while case .bytes(var buffer, let promise)? = acts.first {
      joined.writeBuffer(&buffer)
      if let promise { promises.append(promise) }
      acts.removeFirst()
    }
    if joined.readableBytes > 0 {
      let written = context.eventLoop.makePromise(of: Void.self)
      for promise in promises { written.futureResult.cascade(to: promise) }
      acts.insert(.bytes(joined, written), at: 0)
    }
    pump(context)
    if isCorked { cork(context, 0) }
  }

  private func cork(_ context: ChannelHandlerContext, _ value: SocketOptionValue) {
    let option = ChannelOptions.Types.SocketOption(
      level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_CORK))
    if context.channel.isActive {
      try? context.channel.syncOptions?.setOption(option, value: value)
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if acts.isEmpty, !isHolding, faults.faults.segmentSize == nil || !faults.isConnected {
      context.write(data, promise: promise)
    } else {
      acts.append(.bytes(unwrapOutboundIn(data), promise))
    }
  }

  func flush(context: ChannelHandlerContext) {
    if acts.isEmpty { context.flush() } else { pump(context) }
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if acts.isEmpty {
      context.close(mode: mode, promise: promise)
    } else {
      acts.append(.close(mode, promise))
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    abandon()
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { abandon() }

  private func pump(_ context: ChannelHandlerContext) {
    while !isHolding, !isWaiting, let act = acts.first {
      switch act {
      case .close(let mode, let promise):
        acts.removeFirst()
        context.close(mode: mode, promise: promise)
      case .bytes(var buffer, let promise):
        let size = faults.faults.segmentSize ?? .max
        if buffer.readableBytes <= size {
          acts.removeFirst()
          context.writeAndFlush(wrapOutboundOut(buffer), promise: promise)
        } else if let piece = buffer.readSlice(length: size) {
          acts[0] = .bytes(buffer, promise)
          context.writeAndFlush(wrapOutboundOut(piece), promise: nil)
        }
        if faults.faults.segmentSize != nil, !acts.isEmpty { wait(context) }
      }
    }
  }

  private func wait(_ context: ChannelHandlerContext) {
    isWaiting = true
    let gap = faults.faults.segmentGap.map { TimeAmount.milliseconds(Int64($0)) } ?? Self.gap
    context.eventLoop.assumeIsolated().scheduleTask(in: gap) { [self] in
      isWaiting = false
      pump(context)
    }
  }

  private func abandon() {
    let left = acts
    acts = []
    for act in left {
      switch act {
      case .bytes(_, let promise), .close(_, let promise):
        promise?.fail(ChannelError.ioOnClosedChannel)
      }
    }
  }
}
