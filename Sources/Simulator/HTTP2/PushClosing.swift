import BinaryServer
import NIOCore
import NIOHTTP2

/// How the connection ends, and stalls.
extension PushHandler {
  /// How long a client may take to close after GOAWAY: RST would destroy responses in flight.
  private static let timeout = TimeAmount.seconds(10)

  func close(
    _ context: ChannelHandlerContext, _ ending: Faults.Ending, after pause: TimeAmount = .zero
  ) {
    if isClosing { return }
    isClosing = true
    phase = .discarding
    streams.giveBackAll()
    scheduler.forget()
    GracefulClose.begin(
      context.channel, after: pause, fault: ending,
      timeout: hasSentGoAway ? Self.timeout : GracefulClose.timeout)
  }

  /// After a half-close or GOAWAY, a client gets its pending responses first.
  func closeIfDone(_ context: ChannelHandlerContext) {
    if phase == .draining, streams.waiting.isEmpty {
      close(context, faults.faults.ending)
    } else if hasClientClosed, !isClosing, scheduler.isEmpty, phase != .stalled {
      context.close(promise: nil)
    }
  }

  func goAway(_ push: Push, _ context: ChannelHandlerContext) {
    if faults.faults.goaway != .immediate { respond(push, nil, since: nil, context) }
    goAway(context)
  }

  private func goAway(_ context: ChannelHandlerContext) {
    let faults = faults.faults
    goAway(faults.goaway, error: faults.goawayError, reason: faults.goawayReason, context)
  }

  func goAway(
    _ manner: Faults.Goaway, error: UInt8, reason: String?, _ context: ChannelHandlerContext
  ) {
    recorder.shutDown()
    hasSentGoAway = true
    logger.info(
      "GOAWAY, \(manner.rawValue), after \(recorder.acceptedCount) accepted, stream \(Int(streams.lastValidated))"
    )
    endBatch()
    scheduler.sendAll(context)
    recorder.discard(streams.dropUnvalidated())
    let last = UInt32(Int(streams.lastValidated))
    filter.close(above: manner == .immediate ? 0 : last)
    writer.goAway(last: last, error: error, reason: reason)
    switch manner {
    case .open: break
    case .graceful: phase = .draining
    case .immediate: close(context, faults.faults.ending)
    }
  }

  /// GOAWAY at the age that the faults demand.
  func scheduleRetirement(_ context: ChannelHandlerContext) {
    retirement?.cancel()
    guard let age = faults.goawayAge else { return }
    retirement = context.eventLoop.assumeIsolated().scheduleTask(deadline: began + age) { [self] in
      guard canRespond, !hasSentGoAway, phase == .validating else { return }
      inBatch { goAway(context) }
      closeIfDone(context)
    }
  }

  /// Closes or stalls without GOAWAY.
  func cut(_ push: Push, _ context: ChannelHandlerContext) {
    let ending = faults.faults.cutEnding
    logger.info(
      "\(ending.rawValue) after \(recorder.acceptedCount) accepted, stream \(Int(push.id))")
    // Earlier pushes get their responses; this one does not.
    endBatch()
    scheduler.sendAll(context)
    if ending == .stall {
      respond(push, nil, since: nil, context)
      phase = .stalled
      context.pipeline.fireUserInboundEventTriggered(FaultEvent.stall(.notifications))
    } else {
      close(context, ending)
    }
  }

  /// Outside of a read, records in a separate batch.
  func inBatch(_ work: () -> Void) {
    if scheduler.isReading { return work() }
    recorder.beginBatch()
    work()
    endBatch()
  }
}
