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
  /// Came while it stalls.
  private var held = ByteBuffer()
  private var wantsRead = false
  private var nextRead = NIODeadline.uptimeNanoseconds(0)
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
    case .open: pass(&buffer, context)
    }
  }

  func read(context: ChannelHandlerContext) {
    let now = NIODeadline.now()
    if phase == .stalled {
      wantsRead = true
    } else if faults.faults.readRate == nil || nextRead <= now {
      context.read()
    } else if !wantsRead {
      wantsRead = true
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(deadline: nextRead) {
        let (me, context) = bound.value
        me.readOn(context)
      }
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) { stall?.cancel() }

  private func isDue(_ point: Int?) -> Bool { point.map { $0 <= count } ?? false }

  private func pass(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
    let total = buffer.readableBytes
    if let rate = faults.faults.readRate {
      nextRead = max(nextRead, .now()) + .nanoseconds(Int64(Double(total) / Double(rate) * 1e9))
    }
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
    if toCut <= toStall {
      cut(context)
    } else {
      held = ByteBuffer()
      held.writeBuffer(&buffer)
      begin(context)
    }
  }

  private func cut(_ context: ChannelHandlerContext) {
    phase = .cut
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
      var held = me.held
      me.held = ByteBuffer()
      if held.readableBytes > 0 { me.pass(&held, context) }
      me.readOn(context)
    }
  }

  private func readOn(_ context: ChannelHandlerContext) {
    if wantsRead, phase != .stalled, context.channel.isActive {
      wantsRead = false
      context.read()
    }
  }
}
