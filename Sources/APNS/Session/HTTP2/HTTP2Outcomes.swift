import CAPNS

/// Returns outcomes and counts to the caller.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// The next outcome; nil when none came by the deadline. With `milliseconds` 0 nothing is sent and
  /// no connection is made.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure) -> WaitingOutcome? {
    standing.hasDelivered = false
    if !hasOutcome, !isClosed, !options.neverWaits { try awaitOutcome(milliseconds: milliseconds) }
    standing.tookOutcome()
    // Those that were found last belong to the option on_outcome.
    return options.onOutcome == nil ? takeOutcome() : nil
  }

  mutating func takeOutcome() -> WaitingOutcome? { outbox.pointee.takeOutcome() }

  private mutating func awaitOutcome(milliseconds: Int32) throws(Failure) {
    if milliseconds == 0 {
      for number in 0..<connectionCount where connections[number].phase == .open {
        if network.isReadable(connections[number].number) { try receive(connections + number) }
      }
      lastFailure.forget()
      expire()
      if let failure = lastFailure.failure { throw failure }
      for number in 0..<connectionCount where connections[number].phase == .open {
        // HTTP/2 itself may have something to send, such as acknowledgements.
        _ = try writeRecords(connections + number)
      }
      return
    }
    let deadline = deadline(milliseconds: milliseconds)
    do throws(Failure) {
      try run(until: .outcome, by: deadline)
    } catch {
      // A missing outcome is not a failure, but being unable to send anything is.
      let isStuck =
        outbox.pointee.inFlight == 0
        && (outbox.pointee.hasApart || outbox.pointee.isDue(at: network.now))
      if error.status != APNS_ERR_TIMEOUT || isStuck { throw error }
    }
  }

  var unresolved: Int { outbox.pointee.unresolved }
  var waitingOutcomes: Int { outbox.pointee.waitingOutcomes }

  mutating func cancel(_ identifier: UInt32) -> Int {
    // A connection may be one too many by that.
    if hadExtra, options.neverWaits { wake() }
    return outbox.pointee.cancel(identifier)
  }

  var isPushing: Bool { outbox.pointee.isPushing }
  var hasPushed: Bool { outbox.pointee.hasPushed }
  mutating func takePushed() -> WaitingOutcome? { outbox.pointee.takePushed() }
  mutating func rest(until time: Nanoseconds) { network.wait(until: time) }

  mutating func push() {
    outbox.pointee.push()
    pushIdentifier = nextIdentifier == 1 ? .max : nextIdentifier &- 1
  }

  var lastEnd: Message { reconnects.lastEnd }

  func count(into stats: inout apns_session_stats_t) {
    stats.connects = connects
    stats.bytes = bytes
    stats.records = records
    stats.taken = outbox.pointee.taken
    stats.accepted = outbox.pointee.accepted
    stats.rejected = outbox.pointee.rejected
    stats.unknown = outbox.pointee.unknown
    stats.forgotten = untaken.pointee.forgotten
    stats.cancelled = outbox.pointee.cancelled
    stats.expired = outbox.pointee.expired
    stats.resent = outbox.pointee.resent
    stats.unresolved = UInt64(outbox.pointee.unresolved.magnitude)
    stats.events = UInt64(outbox.pointee.waitingOutcomes.magnitude)
    stats.window = UInt64(outbox.pointee.live.magnitude)
    stats.in_flight = UInt64(outbox.pointee.inFlight.magnitude)
    stats.first_unresolved = outbox.pointee.firstUnresolved ?? 0
  }

  mutating func measure() -> UnsafePointer<apns_session_metrics_t> {
    let metrics = outbox.pointee.metrics
    metrics.forgetConnections()
    for number in 0..<connectionCount {
      switch connections[number].phase {
      case .closed: break
      case .opening: metrics.pointee.connecting &+= 1
      case .open where connections[number].codec.pointee.isDraining: metrics.pointee.draining &+= 1
      case .open: metrics.pointee.open &+= 1
      }
    }
    metrics.pointee.bytes_written = bytes
    metrics.pointee.tokens = bearer.copies
    metrics.complete(network.handshakes, pause: reconnects.earliest &- network.now)
    metrics.completeClasses()
    return UnsafePointer(metrics)
  }
}
