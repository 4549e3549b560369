import APNS
import BinaryServer
import Logging
import NIOCore

/// One binary connection to the simulator: injects its faults, and counts and records its
/// notifications.
final class SimulatedConnection: BinaryConnectionDelegate {
  /// The number of bytes of a broken frame that the page shows.
  private static let shownMax = 4096

  private let number: Int
  private let rules: GatewayRules
  private let limits: FrameLimits
  private let faults: ConnectionFaults
  private let ledger: Ledger
  private let logger: Logger

  // The batch not yet handed to the ledger, the records and the page.
  private var batch: RecordBatch
  private let keepsRecentPushes: Bool
  /// The topic of the client's certificate.
  private var topic: String?
  /// The status of every notification if the certificate is not valid for this gateway.
  private var topicStatus: UInt8?
  /// The number accepted on this connection, and the last one's identifier.
  private var acceptedCount = 0
  private var lastIdentifier: UInt32?

  init(
    number: Int, rules: GatewayRules, faults: ConnectionFaults, ledger: Ledger,
    records: RecordFiles, logger: Logger
  ) {
    self.number = number
    self.rules = rules
    limits = rules.frames.limits
    self.faults = faults
    self.ledger = ledger
    self.logger = logger
    keepsRecentPushes = ledger.recentPushes != nil
    batch = RecordBatch(ledger, records)
  }

  func connected(_ context: ChannelHandlerContext) {
    ledger.connect(number)
    let peer = PeerIdentity(context)
    if ledger.tellsConnections {
      ledger.identify(number, tls: peer.tls, subject: peer.subject)
      topic = peer.topic
    }
    if let topic = rules.topic {
      topicStatus = topic.status(for: peer.certificate)
    }
  }

  func handshakeFailed() { ledger.refuse() }

  func closed() { ledger.close(number) }

  func received(_ count: Int) { batch.tally.bytes += count }

  func beginBatch() { batch.begin(number) }

  func endBatch() { batch.end(number) }

  // MARK: Notifications

  func rejection(of frame: Frame) -> Rejection? {
    if let status = topicStatus {
      return Rejection(frame, status: status, reason: "the certificate's topic")
    }
    if faults.mayReject, let status = faults.badStatus(frame.notification.token) {
      return Rejection(frame, status: status, reason: "a bad token, by a fault")
    }
    return nil
  }

  func accepted(
    _ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) -> AfterAcceptance {
    batch.tally.accepted += 1
    acceptedCount += 1
    lastIdentifier = frame.notification.identifier
    batch.accepted?.append(frame)
    let isDuplicate = ledger.watchesDuplicates && recordAccepted(frame)
    if keepsRecentPushes { keep(bytes, frame.length, .accepted, isDuplicate: isDuplicate) }
    switch faults.endAfterAcceptance() {
    case nil: return .readOn
    case .shutdown:
      batch.tally.shutdowns += 1
      logger.info(
        "shuts down after \(acceptedCount) accepted, the last identifier \(lastIdentifier ?? 0)")
      return .shutDown
    case .cut: return cut(context)
    }
  }

  /// True if it is a duplicate.
  private func recordAccepted(_ frame: Frame) -> Bool {
    let isDuplicate = ledger.isDuplicate(frame.notification.token, frame.notification.payload)
    if isDuplicate { batch.tally.duplicates += 1 }
    batch.ledgerLines?.append(frame, .accepted, isDuplicate: isDuplicate)
    return isDuplicate
  }

  func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection {
    var outcome = LedgerOutcome.rejected(rejection.status)
    if rejection.isSentinel {
      switch faults.faults.sentinel {
      case .own: break
      case .zero: rejection.carried = rejection.carried.map { _ in 0 }
      case .none: outcome = .ignored
      }
      rejection.status = faults.faults.sentinelStatus
      if case .rejected = outcome { outcome = .rejected(rejection.status) }
    }
    if let frame = rejection.frame {
      batch.ledgerLines?.append(frame, outcome)
    } else {
      batch.ledgerLines?.append(command: rejection.command, identifier: rejection.carried, outcome)
    }
    if keepsRecentPushes {
      keep(
        bytes, rejection.extent(in: bytes, atMost: Self.shownMax), outcome,
        because: rejection.reason)
    }
    if case .ignored = outcome {
      batch.tally.ignored += 1
      return .ignore
    }
    batch.tally.rejected[rejection.status, default: 0] += 1
    return .answer
  }

  func discarded(_ bytes: UnsafeRawBufferPointer) {
    batch.tally.discarded += 1
    if keepsRecentPushes { keep(bytes, bytes.count, .discarded) }
    if batch.ledgerLines == nil { return }
    if let frame = try? FrameDecoder.decode(bytes, limits: limits) {
      batch.ledgerLines?.append(frame, .discarded)
    } else {
      batch.ledgerLines?.append(command: bytes.first ?? 0, identifier: nil, .discarded)
    }
  }

  /// Keeps the bytes for the page, even without a complete frame.
  private func keep(
    _ bytes: UnsafeRawBufferPointer, _ length: Int, _ outcome: LedgerOutcome,
    isDuplicate: Bool = false,
    because reason: String? = nil
  ) {
    let bytes = Array(bytes.prefix(length))
    let map = FrameMap(bytes)
    var push = RecentPush(
      time: WallClock.milliseconds, connection: number, form: map.form, topic: topic,
      token: Array(bytes[map.token]), bytes: bytes, payload: map.payload,
      isDuplicate: isDuplicate)
    push.take(outcome)
    if let reason { push.reason = push.reason.map { "\($0): \(reason)" } ?? reason }
    batch.recentPushes.append(push)
  }

  // MARK: Closing

  /// Closes or stalls without an error packet.
  private func cut(_ context: ChannelHandlerContext) -> AfterAcceptance {
    endBatch()
    let ending = faults.faults.cutEnding
    logger.info(
      "\(ending.rawValue) after \(acceptedCount) accepted, the last identifier \(lastIdentifier ?? 0)"
    )
    if let ending = ending.connectionEnding { return .close(ending) }
    context.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.notifications))
    return .pause
  }

  func close(with packet: ErrorPacket?, _ context: ChannelHandlerContext) {
    let answer = faults.answer(of: packet)
    if answer.delay == .zero {
      send(answer, context)
    } else {
      context.eventLoop.assumeIsolated().scheduleTask(in: answer.delay) { [self] in
        if context.channel.isActive { send(answer, context) }
      }
    }
  }

  private func send(
    _ answer: ConnectionFaults.RejectionAnswer, _ context: ChannelHandlerContext
  ) {
    guard let packet = answer.packet else {
      GracefulClose.begin(context.channel, after: answer.pause, fault: answer.ending)
      return
    }
    let pipeline = context.pipeline.syncOperations
    let segments =
      answer.isJoined ? try? pipeline.context(handlerType: SegmentShaper.self) : nil
    let shaper = segments?.handler as? SegmentShaper
    shaper?.hold()
    BinaryHandler.write(packet, context)
    GracefulClose.begin(context.channel, after: answer.pause, fault: answer.ending)
    if let segments {
      // A reset would destroy corked bytes.
      shaper?.release(context: segments, isCorked: answer.ending != .reset)
    }
  }
}
