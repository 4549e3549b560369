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
  private let records: RecordFiles
  private let logger: Logger

  // The batch not yet handed to the ledger, the records and the page.
  private var tally = ConnectionTally()
  private var accepted: NotificationLines?
  private var fates: NotificationLines?
  private var recentPushes: [RecentPush] = []
  private let keepsRecentPushes: Bool
  /// The topic of the client's certificate.
  private var topic: String?
  /// Answers every notification if the certificate is not one for this gateway.
  private var topicStatus: UInt8?
  /// Accepted on this connection, and the identifier of the last one.
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
    self.records = records
    self.logger = logger
    keepsRecentPushes = ledger.recentPushes != nil
    if records.accepted != nil || ledger.keeps > 0 {
      accepted = NotificationLines(tellsFate: false)
    }
    if records.ledger != nil { fates = NotificationLines(tellsFate: true) }
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

  func received(_ count: Int) { tally.bytes += count }

  func beginBatch() {
    accepted?.beginBatch(connection: number)
    fates?.beginBatch(connection: number)
  }

  /// Hands over a whole batch at once, so that no notification costs a lock.
  func endBatch() {
    ledger.add(&tally, of: number, ledger.keeps > 0 ? accepted : nil)
    ledger.recentPushes?.add(&recentPushes)
    if let record = records.accepted { accepted?.hand(to: record) } else { accepted?.clear() }
    if let record = records.ledger { fates?.hand(to: record) }
  }

  // MARK: Notifications

  func rejection(of frame: Frame) -> Rejection? {
    if let status = topicStatus {
      return Rejection(frame, status: status, reason: "the certificate's topic")
    }
    if faults.isJudging, let status = faults.badStatus(frame.notification.token) {
      return Rejection(frame, status: status, reason: "a bad token, as a fault demands")
    }
    return nil
  }

  func accepted(
    _ frame: Frame, _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext
  ) -> AfterAcceptance {
    tally.accepted += 1
    acceptedCount += 1
    lastIdentifier = frame.notification.identifier
    accepted?.append(frame)
    let isDuplicate = ledger.watchesDuplicates && recordFate(frame)
    if keepsRecentPushes { keep(bytes, frame.length, .accepted, isDuplicate: isDuplicate) }
    switch faults.endAfterAcceptance() {
    case nil: return .readOn
    case .shutdown:
      tally.shutdowns += 1
      logger.info(
        "shuts down after \(acceptedCount) accepted, the last identifier \(lastIdentifier ?? 0)")
      return .shutDown
    case .cut: return cut(context)
    }
  }

  /// True if it is a duplicate.
  private func recordFate(_ frame: Frame) -> Bool {
    let isDuplicate = ledger.isDuplicate(frame.notification.token, frame.notification.payload)
    if isDuplicate { tally.duplicates += 1 }
    fates?.append(frame, .accepted, isDuplicate: isDuplicate)
    return isDuplicate
  }

  func rejected(_ rejection: inout Rejection, _ bytes: UnsafeRawBufferPointer) -> AfterRejection {
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
    if keepsRecentPushes {
      keep(
        bytes, rejection.extent(in: bytes, atMost: Self.shownMax), fate, because: rejection.reason)
    }
    if case .ignored = fate {
      tally.ignored += 1
      return .ignore
    }
    tally.rejected[rejection.status, default: 0] += 1
    return .answer
  }

  func discarded(_ bytes: UnsafeRawBufferPointer) {
    tally.discarded += 1
    if keepsRecentPushes { keep(bytes, bytes.count, .discarded) }
    if fates == nil { return }
    if let frame = try? FrameDecoder.decode(bytes, limits: limits) {
      fates?.append(frame, .discarded)
    } else {
      fates?.append(command: bytes.first ?? 0, identifier: nil, .discarded)
    }
  }

  /// Keeps the bytes for the page, even without a complete frame.
  private func keep(
    _ bytes: UnsafeRawBufferPointer, _ length: Int, _ fate: Fate, isDuplicate: Bool = false,
    because reason: String? = nil
  ) {
    let bytes = Array(bytes.prefix(length))
    let map = FrameMap(bytes)
    var push = RecentPush(
      time: WallClock.milliseconds, connection: number, form: map.form, topic: topic,
      token: Array(bytes[map.token]), bytes: bytes, payload: map.payload, fate: "",
      isDuplicate: isDuplicate)
    push.take(fate)
    if let reason { push.reason = push.reason.map { "\($0): \(reason)" } ?? reason }
    recentPushes.append(push)
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
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.scheduleTask(in: answer.delay) {
        let (me, context) = bound.value
        if context.channel.isActive { me.send(answer, context) }
      }
    }
  }

  private func send(
    _ answer: ConnectionFaults.RejectionAnswer, _ context: ChannelHandlerContext
  ) {
    guard let packet = answer.packet else {
      GentleClose.begin(context.channel, after: answer.pause, fault: answer.ending)
      return
    }
    let pipeline = context.pipeline.syncOperations
    let segments =
      answer.isJoined ? try? pipeline.context(handlerType: SegmentShaper.self) : nil
    let shaper = segments?.handler as? SegmentShaper
    shaper?.hold()
    BinaryHandler.write(packet, context)
    GentleClose.begin(context.channel, after: answer.pause, fault: answer.ending)
    if let segments {
      // A reset would destroy corked bytes.
      shaper?.release(context: segments, isCorked: answer.ending != .reset)
    }
  }
}
