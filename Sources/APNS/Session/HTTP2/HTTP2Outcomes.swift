import CAPNS

/// Returns outcomes and counts to the caller.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  mutating func readNow() throws(Failure) {
    for number in 0..<connectionCount where connections[number].phase == .open {
      if network.isReadable(connections[number].number) { try receive(connections + number) }
    }
    lastFailure.forget()
    expire()
    if lastFailure.isThere { return }
    for number in 0..<connectionCount where connections[number].phase == .open {
      // HTTP/2 itself may have something to send, such as acknowledgements.
      _ = try writeRecords(connections + number)
    }
  }

  mutating func takeOutcome() -> WaitingOutcome? { outbox.pointee.takeOutcome() }

  var waitsToWrite: Bool {
    outbox.pointee.inFlight == 0
      && (outbox.pointee.hasApart || outbox.pointee.isDue(at: network.now))
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

  mutating func keepPush() { outbox.pointee.push() }

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
    var free = 0
    for number in 0..<connectionCount {
      switch connections[number].phase {
      case .closed: break
      case .opening: metrics.pointee.connecting &+= 1
      case .open where connections[number].codec.pointee.isDraining: metrics.pointee.draining &+= 1
      case .open:
        metrics.pointee.open &+= 1
        free &+= connections[number].codec.pointee.freeStreams()
      }
    }
    if outbox.pointee.isDue(at: network.now) { free = 0 }
    metrics.pointee.free_streams = UInt32(clamping: free)
    metrics.pointee.bytes_written = bytes
    metrics.pointee.tokens = bearer.copies
    metrics.complete(network.handshakes, pause: reconnects.earliest &- network.now)
    metrics.completeClasses()
    return UnsafePointer(metrics)
  }
}
