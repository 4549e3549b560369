import APNS
import Logging
import NIOCore
import NIOTLS

/// One provider's connection to the binary gateway.
final class BinaryHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum Phase {
    case judging
    /// Rejected one; the rest of it is to be passed over.
    case skipping
    /// Counts and throws away whatever else comes.
    case discarding
    /// The same, without knowing where frames begin.
    case lost
  }

  private let connection: Int
  private let rules: Rules
  private let limits: FrameLimits
  private let ledger: Ledger
  private let record: RecordFile?
  private let logger: Logger

  private var phase = Phase.judging
  /// The beginning of a frame whose end has not come.
  private var pending = ByteBuffer()
  /// What the ledger has not been told yet.
  private var tally = Tally()
  /// What the record has not been given yet.
  private var lines = AcceptedLines()

  init(connection: Int, rules: Rules, ledger: Ledger, record: RecordFile?, logger: Logger) {
    self.connection = connection
    self.rules = rules
    limits = rules.limits
    self.ledger = ledger
    self.record = record
    self.logger = logger
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      ledger.connect()
      logger.debug("connected")
    }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var incoming = unwrapInboundIn(data)
    if phase == .lost { return }
    if record != nil { lines.beginBatch(connection: connection) }
    if pending.readableBytes == 0 {
      consume(&incoming, context)
      // Copied, not kept: TLS wants its buffer back.
      pending.clear()
      pending.writeBuffer(&incoming)
    } else {
      // Taken out for the while: what is written below may end the connection here and now.
      var joined = pending
      pending = ByteBuffer()
      joined.writeBuffer(&incoming)
      consume(&joined, context)
      joined.discardReadBytes()
      pending = joined
    }
    settle()
  }

  func channelInactive(context: ChannelHandlerContext) {
    if pending.readableBytes > 0, phase == .judging {
      logger.info("ended within a frame, \(pending.readableBytes) bytes into it")
    }
    logger.debug("closed")
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionEnd.log(error, to: logger) { ledger.refuse() }
    context.close(promise: nil)
  }

  private func consume(_ buffer: inout ByteBuffer, _ context: ChannelHandlerContext) {
    buffer.readWithUnsafeReadableBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        let taken = step(UnsafeRawBufferPointer(rebasing: bytes[offset...]), context)
        if taken == 0 { break }
        offset += taken
      }
      return offset
    }
  }

  /// Deals with the frame that `bytes` begins with; how many bytes that was, 0 where more must come.
  @inline(__always)
  private func step(_ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext) -> Int {
    switch phase {
    case .judging:
      switch rules.judge(bytes, limits: limits) {
      case .incomplete: return 0
      case .accepted(let frame):
        tally.accepted += 1
        if record != nil { lines.append(frame) }
        return frame.length
      case .rejected(let rejection):
        reject(rejection, context)
        phase = .skipping
        return step(bytes, context)
      }
    case .skipping, .discarding:
      switch FrameExtent.measure(bytes) {
      case .incomplete: return 0
      case .bytes(let length):
        if phase == .discarding { tally.discarded += 1 }
        phase = .discarding
        return length
      case .unknown:
        phase = .lost
        return bytes.count
      }
    case .lost: return bytes.count
    }
  }

  private func reject(_ rejection: Rejection, _ context: ChannelHandlerContext) {
    tally.rejected[rejection.status, default: 0] += 1
    // Whoever reads the answer finds the record up to date.
    settle()
    let place = rejection.fault.map { ", at byte \($0.offset) of the frame" } ?? ""
    logger.info(
      "command \(rejection.command) identifier \(rejection.identifier) rejected: status \(rejection.status) \(RejectStatus.text(rejection.status))\(place)"
    )
    guard let packet = rejection.packet else {
      GentleClose.begin(context.channel, after: .zero)
      return
    }
    var buffer = context.channel.allocator.buffer(capacity: ErrorPacket.size)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: ErrorPacket.size) { room in
      guard let base = room.baseAddress else { return 0 }
      packet.encode(into: base)
      return ErrorPacket.size
    }
    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    GentleClose.begin(context.channel, after: GentleClose.pause)
  }

  /// Passes on what came of this batch, so that no notification costs a lock.
  private func settle() {
    ledger.add(&tally)
    if let record { lines.hand(to: record) }
  }
}
