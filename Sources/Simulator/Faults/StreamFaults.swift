import BinaryServer
import Logging
import NIOCore
import NIOTLS

/// Sits between TLS and the protocol. Reads the client's bytes slowly, stops reading at some byte,
/// or closes the connection there.
final class StreamFaults: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Small enough that a client notices when the gateway stops reading.
  static let receiveBuffer: SocketOptionValue = 32768

  private enum Phase: Equatable {
    case open
    case stalled(Stall)
    /// The connection is closing.
    case cut
  }

  private let faults: ConnectionFaults
  private let logger: Logger
  private var phase = Phase.open
  private var hasStalled = false
  /// Bytes passed on since the faults last changed.
  private var count = 0
  private var generation: Int
  /// Arrived during a stall, or faster than the reading rate.
  private var held = ByteBuffer()
  private var wantsRead = false
  /// Waits for the reading rate.
  private var isPacing = false
  private var end: Scheduled<Void>?
  /// The client has closed its side. A slow reader gets this event later.
  private var isLeft = false

  init(faults: ConnectionFaults, logger: Logger) {
    self.faults = faults
    self.logger = logger
    generation = faults.generation
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as FaultEvent:
      switch event {
      case .changed:
        adapt(context)
        context.fireUserInboundEventTriggered(event)
      case .cut(let ending): cut(context, ending)
      case .stall(let stall): begin(stall, context)
      case .recordedEnd: context.fireUserInboundEventTriggered(event)
      }
    case ChannelEvent.inputClosed:
      isLeft = true
      passLeave(context)
    case TLSUserEvent.handshakeCompleted:
      context.fireUserInboundEventTriggered(event)
      faults.isConnected = true
      strikeAtOnce(context)
    default: context.fireUserInboundEventTriggered(event)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var buffer = unwrapInboundIn(data)
    adapt(context)
    switch phase {
    case .cut: return
    case .stalled: held.writeBuffer(&buffer)
    case .open:
      if faults.faults.readRate == nil, held.readableBytes == 0 {
        pass(&buffer, context)
        if isStalled { held.writeBuffer(&buffer) }
      } else {
        held.writeBuffer(&buffer)
        pace(context)
      }
    }
  }

  func read(context: ChannelHandlerContext) {
    if isStalled || isPacing { wantsRead = true } else { context.read() }
  }

  func handlerRemoved(context: ChannelHandlerContext) { end?.cancel() }

  private var isStalled: Bool { if case .stalled = phase { true } else { false } }

  /// Adopts changed faults, which may end a stall.
  private func adapt(_ context: ChannelHandlerContext) {
    faults.refresh()
    if faults.generation == generation { return }
    generation = faults.generation
    count = 0
    hasStalled = false
    switch phase {
    case .cut: return
    case .open: if faults.isConnected { strikeAtOnce(context) }
    case .stalled(let stall):
      let isMeant =
        switch stall {
        case .bytes: faults.stallAfter != nil
        case .notifications: faults.faults.cutAfter != nil && faults.faults.cutEnding == .stall
        case .end: faults.faults.ending == .stall || faults.faults.cutEnding == .stall
        }
      hasStalled = isMeant
      if isMeant { time(stall, context) } else { wake(stall, context) }
    }
  }

  /// A fault at byte 0 does not wait for a byte.
  private func strikeAtOnce(_ context: ChannelHandlerContext) {
    if faults.cutAfterBytes == 0 || faults.stallAfter == 0 {
      var nothing = ByteBuffer()
      pass(&nothing, context)
    }
  }

  /// Passes on some of the held bytes, and schedules the next ones.
  private func pace(_ context: ChannelHandlerContext) {
    guard phase == .open, !isPacing, held.readableBytes > 0 else { return }
    let rate = faults.faults.readRate
    let share = min(rate.map { max(1, $0 / 20) } ?? .max, held.readableBytes)
    guard var piece = held.readSlice(length: share) else { return }
    // Set first, because the next handler may read immediately.
    isPacing = rate != nil
    pass(&piece, context)
    context.fireChannelReadComplete()
    if isStalled {
      isPacing = false
      piece.writeBuffer(&held)
      held = piece
    } else if phase == .open {
      held.discardReadBytes()
      guard let rate else { return readOn(context) }
      let pause = TimeAmount.nanoseconds(Int64(share) * 1_000_000_000 / Int64(rate))
      context.eventLoop.assumeIsolated().scheduleTask(in: pause) { [self] in
        isPacing = false
        if held.readableBytes > 0 { pace(context) } else { readOn(context) }
      }
    } else {
      isPacing = false
      readOn(context)
    }
  }

  /// Leaves the bytes that a stall holds in `buffer`.
  private func pass(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
    let toCut = faults.cutAfterBytes.map { max(0, $0 - count) } ?? .max
    let toStall = hasStalled ? .max : faults.stallAfter.map { max(0, $0 - count) } ?? .max
    let share = min(toCut, toStall)
    if buffer.readableBytes < share {
      let whole = buffer
      buffer = ByteBuffer()
      count += whole.readableBytes
      context.fireChannelRead(wrapInboundOut(whole))
      return
    }
    if share > 0, let piece = buffer.readSlice(length: share) {
      count += share
      context.fireChannelRead(wrapInboundOut(piece))
      // These bytes may have ended the connection.
      if phase != .open { return }
    }
    if !faults.mayStrike() {
      faults.spareBytes()
      pass(&buffer, context)
    } else if toCut <= toStall {
      cut(context, faults.faults.cutEnding)
    } else {
      hasStalled = true
      begin(.bytes, context)
    }
  }

  private func cut(_ context: ChannelHandlerContext, _ ending: Faults.Ending) {
    if ending == .stall { return begin(.end, context) }
    phase = .cut
    held = ByteBuffer()
    end?.cancel()
    logger.info("ends after \(count) bytes: \(ending.rawValue)")
    GracefulClose.begin(context.channel, after: .zero, fault: ending)
    // Continues to read, to notice when the client closes.
    readOn(context)
  }

  private func begin(_ stall: Stall, _ context: ChannelHandlerContext) {
    if phase != .open { return }
    phase = .stalled(stall)
    logger.info("stops reading after \(count) bytes")
    time(stall, context)
  }

  private func time(_ stall: Stall, _ context: ChannelHandlerContext) {
    end?.cancel()
    end = nil
    guard let time = faults.stallTime else { return passLeave(context) }
    end = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
      wake(stall, context)
    }
  }

  private func wake(_ stall: Stall, _ context: ChannelHandlerContext) {
    guard isStalled else { return }
    end?.cancel()
    phase = .open
    logger.info("resumes reading")
    switch stall {
    case .bytes: break
    case .notifications: context.fireUserInboundEventTriggered(ReadingResumed())
    case .end: GracefulClose.begin(context.channel, after: .zero)
    }
    if phase != .open { return }
    pace(context)
    readOn(context)
  }

  /// Reports that the client has closed its side, once all its bytes are passed on.
  private func passLeave(_ context: ChannelHandlerContext) {
    guard isLeft else { return }
    if isStalled, end == nil || phase == .stalled(.end) {
      // Otherwise it would stay open forever.
      context.close(promise: nil)
    } else if phase == .cut || phase == .open && !isPacing && held.readableBytes == 0 {
      isLeft = false
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    }
  }

  private func readOn(_ context: ChannelHandlerContext) {
    passLeave(context)
    if wantsRead, !isStalled, !isPacing, context.channel.isActive {
      wantsRead = false
      context.read()
    }
  }
}
