import Logging
import NIOCore
import NIOTLS

/// Stands between TLS and the protocol and spoils how the client's bytes are taken:
/// slowly, not at all from some byte on, or up to one where the connection ends.
final class StreamFaults: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Small enough that a gateway which does not read is felt by who writes.
  static let receiveBuffer: SocketOptionValue = 32768

  private enum Phase {
    case open
    case stalled
    /// Beyond the byte where it ends.
    case cut
  }

  private let faults: ConnectionFaults
  private let logger: Logger
  private var phase = Phase.open
  private var hasStalled = false
  /// Bytes passed on so far.
  private var count = 0
  /// Came while it stalls, or faster than it reads.
  private var held = ByteBuffer()
  private var wantsRead = false
  /// What was passed on last has its time yet.
  private var isPacing = false
  private var stall: Scheduled<Void>?

  init(faults: ConnectionFaults, logger: Logger) {
    self.faults = faults
    self.logger = logger
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    context.fireUserInboundEventTriggered(event)
    if case .handshakeCompleted = event as? TLSUserEvent {
      faults.isConnected = true
      // Those at byte 0 wait for no byte.
      if isDue(faults.cutAfter) { cut(context) } else if isDue(faults.stallAfter) { begin(context) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var buffer = unwrapInboundIn(data)
    faults.refresh()
    switch phase {
    case .cut: return
    case .stalled: held.writeBuffer(&buffer)
    case .open:
      if faults.faults.readRate == nil, held.readableBytes == 0 {
        pass(&buffer, context)
        if phase == .stalled { held.writeBuffer(&buffer) }
      } else {
        held.writeBuffer(&buffer)
        pace(context)
      }
    }
  }

  func read(context: ChannelHandlerContext) {
    if phase == .stalled || isPacing { wantsRead = true } else { context.read() }
  }

  func handlerRemoved(context: ChannelHandlerContext) { stall?.cancel() }

  private func isDue(_ point: Int?) -> Bool { point.map { $0 <= count } ?? false }

  /// Passes on some of what is held, and more when that has had its time.
  private func pace(_ context: ChannelHandlerContext) {
    guard phase == .open, !isPacing, held.readableBytes > 0 else { return }
    let rate = faults.faults.readRate
    let share = min(rate.map { max(1, $0 / 20) } ?? .max, held.readableBytes)
    guard var piece = held.readSlice(length: share) else { return }
    // Before it is passed on: whoever takes it may want to read at once.
    isPacing = rate != nil
    pass(&piece, context)
    if phase == .stalled {
      isPacing = false
      piece.writeBuffer(&held)
      held = piece
    } else if phase == .open {
      held.discardReadBytes()
      guard let rate else { return readOn(context) }
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: .nanoseconds(Int64(share) * 1_000_000_000 / Int64(rate))) {
        let (me, context) = bound.value
        me.isPacing = false
        if me.held.readableBytes > 0 { me.pace(context) } else { me.readOn(context) }
      }
    } else {
      isPacing = false
      readOn(context)
    }
  }

  /// Leaves in `buffer` what a stall keeps back.
  private func pass(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
    let total = buffer.readableBytes
    let toCut = faults.cutAfter.map { max(0, $0 - count) } ?? .max
    let toStall = hasStalled ? .max : faults.stallAfter.map { max(0, $0 - count) } ?? .max
    let share = min(total, toCut, toStall)
    count += share
    if share == total, share < toCut, share < toStall {
      context.fireChannelRead(wrapInboundOut(buffer))
      return
    }
    if share > 0, let piece = buffer.readSlice(length: share) {
      context.fireChannelRead(wrapInboundOut(piece))
    }
    if toCut <= toStall { cut(context) } else { begin(context) }
  }

  private func cut(_ context: ChannelHandlerContext) {
    phase = .cut
    held = ByteBuffer()
    logger.info("ends after \(count) bytes: \(faults.faults.cutEnding.rawValue)")
    GentleClose.begin(context.channel, after: .zero, ending: faults.faults.cutEnding)
  }

  private func begin(_ context: ChannelHandlerContext) {
    phase = .stalled
    hasStalled = true
    guard let time = faults.stallTime else {
      logger.info("stops reading after \(count) bytes")
      return
    }
    logger.info("stops reading after \(count) bytes for \(time.nanoseconds / 1_000_000) ms")
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    stall = context.eventLoop.scheduleTask(in: time) {
      let (me, context) = bound.value
      me.phase = .open
      me.pace(context)
      me.readOn(context)
    }
  }

  private func readOn(_ context: ChannelHandlerContext) {
    if wantsRead, phase != .stalled, !isPacing, context.channel.isActive {
      wantsRead = false
      context.read()
    }
  }
}
