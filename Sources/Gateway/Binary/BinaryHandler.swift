import APNS
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// One provider's connection to the binary gateway.
final class BinaryHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Where notifications are written down.
  struct Records {
    var accepted: RecordFile?
    var ledger: RecordFile?
  }

  private enum Phase {
    case judging
    /// By order leaves what comes next where it is.
    case stalled
    /// Leaves one unanswered; the rest of it is to be passed over.
    case ignoring
    /// Rejected one; the rest of it is to be passed over.
    case skipping
    /// Counts and throws away whatever else comes.
    case discarding
    /// The same, without knowing where frames begin.
    case lost
  }

  /// How much is shown of what has no end.
  private static let shown = 4096

  private let connection: Int
  private let rules: Rules
  private let limits: FrameLimits
  private let faults: ConnectionFaults
  private let ledger: Ledger
  private let records: Records
  private let logger: Logger

  private var phase = Phase.judging
  /// The beginning of a frame whose end has not come.
  private var pending = ByteBuffer()
  /// What the ledger has not been told yet.
  private var tally = Tally()
  /// What the records have not been given yet.
  private var accepted: NotificationLines?
  private var fates: NotificationLines?
  /// What those who look on have not been shown yet.
  private var sightings: [Sighting] = []
  private let isSeen: Bool
  /// That of the client's certificate.
  private var topic: String?
  /// The status for all there is, where the certificate is not one for this gateway.
  private var topicStatus: UInt8?
  /// Accepted on this connection, and the identifier of the last of them.
  private var count = 0
  private var last: UInt32?
  private var lastCommand = Command.simple
  /// An answer or a cut is to end the connection.
  private var isEnding = false

  init(
    connection: Int, rules: Rules, faults: ConnectionFaults, ledger: Ledger, records: Records,
    logger: Logger
  ) {
    self.connection = connection
    self.rules = rules
    limits = rules.limits
    self.faults = faults
    self.ledger = ledger
    self.records = records
    self.logger = logger
    isSeen = ledger.sightings != nil
    if records.accepted != nil || ledger.keeps > 0 {
      accepted = NotificationLines(tellsFate: false)
    }
    if records.ledger != nil { fates = NotificationLines(tellsFate: true) }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      ledger.connect()
      logger.debug("connected")
      if ledger.tellsConnections {
        let peer = PeerIdentity(context)
        ledger.identify(connection, tls: peer.tls, subject: peer.subject)
        topic = peer.topic
      }
      if let topic = rules.topic {
        topicStatus = topic.status(for: context.pipeline.syncOperations.peerCertificate)
      }
    }
    if case .woken = event as? FaultEvent, phase == .stalled {
      phase = .judging
      var nothing = ByteBuffer()
      take(&nothing, context)
    }
    // An end that is under way comes in its own time.
    if case .inputClosed = event as? ChannelEvent, !isEnding { context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var incoming = unwrapInboundIn(data)
    tally.bytes += incoming.readableBytes
    take(&incoming, context)
  }

  private func take(_ incoming: inout ByteBuffer, _ context: ChannelHandlerContext) {
    if phase == .lost { return }
    accepted?.beginBatch(connection: connection)
    fates?.beginBatch(connection: connection)
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
    ledger.close(connection)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if ConnectionEnd.log(error, to: logger) { ledger.refuse() }
    // Whether that is the end is said by an event.
    if !ConnectionEnd.isHalf(error) { context.close(promise: nil) }
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
        if let status = topicStatus {
          return reject(
            Rejection(frame, status: status, reason: "the certificate's topic"), bytes, context)
        }
        if faults.isJudging, let status = faults.badStatus(frame.notification.token) {
          return reject(
            Rejection(frame, status: status, reason: "a bad token by order"), bytes, context)
        }
        accept(frame, bytes, context)
        return frame.length
      case .rejected(let rejection):
        return reject(rejection, bytes, context)
      }
    case .ignoring, .skipping, .discarding:
      switch FrameExtent.measure(bytes) {
      case .incomplete: return 0
      case .bytes(let length):
        if phase == .discarding { discard(UnsafeRawBufferPointer(rebasing: bytes[..<length])) }
        phase = phase == .ignoring ? .judging : .discarding
        return length
      case .unknown:
        phase = .lost
        return bytes.count
      }
    case .stalled: return 0
    case .lost: return bytes.count
    }
  }

  @inline(__always)
  private func accept(
    _ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) {
    tally.accepted += 1
    count += 1
    last = frame.notification.identifier
    lastCommand = frame.command
    accepted?.append(frame)
    let isDuplicate = ledger.watchesDuplicates && watch(frame)
    if isSeen { see(bytes, frame.length, .accepted, isDuplicate: isDuplicate) }
    switch faults.turn() {
    case nil: break
    case .shutdown: shutDown(context)
    case .cut: cut(context)
    }
  }

  private func watch(_ frame: Frame) -> Bool {
    let isDuplicate = ledger.isDuplicate(frame.notification.token, frame.notification.payload)
    if isDuplicate { tally.duplicates += 1 }
    fates?.append(frame, .accepted, isDuplicate: isDuplicate)
    return isDuplicate
  }

  /// Keeps what came for those who look on, though it may be no frame.
  private func see(
    _ bytes: UnsafeRawBufferPointer, _ length: Int, _ fate: Fate, isDuplicate: Bool = false,
    because reason: String? = nil
  ) {
    let bytes = Array(bytes.prefix(length))
    let map = FrameMap(bytes)
    var sighting = Sighting(
      time: WallClock.milliseconds, connection: connection, form: map.form, topic: topic,
      token: Array(bytes[map.token]), bytes: bytes, payload: map.payload, fate: "",
      isDuplicate: isDuplicate)
    sighting.take(fate)
    if let reason { sighting.reason = sighting.reason.map { "\($0): \(reason)" } ?? reason }
    sightings.append(sighting)
  }

  private func discard(_ bytes: UnsafeRawBufferPointer) {
    tally.discarded += 1
    if isSeen { see(bytes, bytes.count, .discarded) }
    if fates == nil { return }
    if let frame = try? FrameDecoder.decode(bytes, limits: limits) {
      fates?.append(frame, .discarded)
    } else {
      fates?.append(command: bytes.first ?? 0, identifier: nil, .discarded)
    }
  }

  private func reject(
    _ rejection: Rejection, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) -> Int {
    var rejection = rejection
    var fate = Fate.rejected(rejection.status)
    if rejection.isSentinel {
      switch faults.faults.sentinel {
      case .own: break
      case .zero: rejection.carried = rejection.carried.map { _ in 0 }
      case .none: fate = .ignored
      }
      rejection.status = faults.faults.sentinelStatus
      if case .rejected = fate { fate = .rejected(rejection.status) }
    }
    if let frame = rejection.frame {
      fates?.append(frame, fate)
    } else {
      fates?.append(command: rejection.command, identifier: rejection.carried, fate)
    }
    if isSeen { see(bytes, extent(of: rejection, bytes), fate, because: rejection.reason) }
    if case .ignored = fate {
      tally.ignored += 1
      logger.info("identifier \(rejection.identifier) left unanswered")
      phase = .ignoring
    } else {
      tally.rejected[rejection.status, default: 0] += 1
      logger.info(
        "command \(rejection.command) identifier \(rejection.identifier) rejected: status \(rejection.status) \(RejectStatus.text(rejection.status)): \(rejection.reason)"
      )
      phase = .skipping
      end(with: rejection.packet, context)
    }
    return step(bytes, context)
  }

  /// Of what is rejected, as far as it has come.
  private func extent(of rejection: Rejection, _ bytes: UnsafeRawBufferPointer) -> Int {
    if let frame = rejection.frame { return frame.length }
    if case .bytes(let length) = FrameExtent.measure(bytes) { return length }
    return min(bytes.count, Self.shown)
  }

  private func shutDown(_ context: ChannelHandlerContext) {
    tally.shutdowns += 1
    logger.info("shuts down after \(count) accepted, the last identifier \(last ?? 0)")
    phase = .discarding
    // Command 0 knows no answer.
    end(
      with: lastCommand == .simple
        ? nil : ErrorPacket(status: ErrorPacket.shutdown, identifier: last ?? 0), context)
  }

  /// Ends, or stalls, without a word.
  private func cut(_ context: ChannelHandlerContext) {
    settle()
    let ending = faults.faults.cutEnding
    logger.info("\(ending.rawValue) after \(count) accepted, the last identifier \(last ?? 0)")
    if ending == .stall {
      phase = .stalled
      context.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.notifications))
    } else {
      phase = .discarding
      isEnding = true
      GentleClose.begin(context.channel, after: .zero, ending: ending)
    }
  }

  /// Answers as the faults will have it, and ends the connection.
  private func end(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    // Whoever reads the answer finds the record up to date.
    settle()
    isEnding = true
    let aftermath = faults.aftermath(of: packet)
    if aftermath.delay == .zero {
      answer(aftermath, context)
    } else {
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: aftermath.delay) {
        let (me, context) = bound.value
        if context.channel.isActive { me.answer(aftermath, context) }
      }
    }
  }

  private func answer(_ aftermath: ConnectionFaults.Aftermath, _ context: ChannelHandlerContext) {
    guard let packet = aftermath.packet else {
      GentleClose.begin(context.channel, after: aftermath.pause, ending: aftermath.ending)
      return
    }
    var buffer = context.channel.allocator.buffer(capacity: ErrorPacket.size)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: ErrorPacket.size) { room in
      guard let base = room.baseAddress else { return 0 }
      packet.encode(into: base)
      return ErrorPacket.size
    }
    let pipeline = context.pipeline.syncOperations
    let segments =
      aftermath.isJoined ? try? pipeline.context(handlerType: SegmentShaper.self) : nil
    let shaper = segments?.handler as? SegmentShaper
    shaper?.hold()
    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    GentleClose.begin(context.channel, after: aftermath.pause, ending: aftermath.ending)
    if let segments {
      // A reset would destroy what is corked.
      shaper?.release(context: segments, isCorked: aftermath.ending != .reset)
    }
  }

  /// Passes on what came of this batch, so that no notification costs a lock.
  private func settle() {
    ledger.add(&tally, of: connection, ledger.keeps > 0 ? accepted : nil)
    ledger.sightings?.add(&sightings)
    if let record = records.accepted { accepted?.hand(to: record) } else { accepted?.clear() }
    if let record = records.ledger { fates?.hand(to: record) }
  }
}
