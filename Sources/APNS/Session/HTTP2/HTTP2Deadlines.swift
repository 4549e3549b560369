import CAPNS

/// Resolves notifications at their deadline. If a stream is in flight, it is abandoned, and the
/// connection and all others continue.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  var nextDeadline: Nanoseconds { outbox.pointee.nextDeadline }

  /// True if some were due, so that there may be something to do at once.
  @inline(__always)
  @discardableResult
  mutating func expire() -> Bool {
    let now = network.now
    guard now >= outbox.pointee.nextDeadline else { return false }
    hearAndEndDue(at: now)
    return true
  }

  /// The process may have been suspended since the last look: what came until then counts.
  @inline(never)
  private mutating func hearAndEndDue(at now: Nanoseconds) {
    var isHeard = true
    for number in 0..<connectionCount
    where connections[number].phase == .open && connections[number].codec.pointee.inFlight > 0 {
      do throws(Failure) {
        if try !hearOut(connections + number) { isHeard = false }
      } catch {
        lastFailure.note(error)
      }
    }
    endDue(at: now, onlyWaiting: !isHeard)
  }

  /// Waiting notifications are not sent when they are due.
  @inline(__always)
  mutating func expireWaiting() {
    // Notifications may wait for others to the same device.
    guard outbox.pointee.nextDeadline < .max,
      outbox.pointee.unresolved > outbox.pointee.inFlight
    else { return }
    let now = network.lately
    if now >= outbox.pointee.nextDeadline { endDue(at: now, onlyWaiting: true) }
  }

  @inline(never)
  private mutating func endDue(at now: Nanoseconds, onlyWaiting: Bool) {
    let (connections, metrics, timeout) = (connections, outbox.pointee.metrics, shortPause)
    let time = SendTime(nanoseconds: now)
    let (expired, unknown) = (outbox.pointee.expired, outbox.pointee.unknown)
    outbox.pointee.expire(at: now, onlyWaiting: onlyWaiting) {
      let connection = connections + $0.connection($1)
      let isBegun = connection.pointee.codec.pointee.giveUp(
        $0.stream($1), ends: $0.ends($1), unsent: $0.unsent($1))
      metrics.pointee.timeouts &+= 1
      guard isBegun else { return false }
      let flight = $0.flightTime($1, until: time)
      connection.pointee.due.isAny = true
      if flight >= timeout { connection.pointee.due.long &+= 1 }
      // A time of the outbox is not exact.
      if now &- connection.pointee.lastReceived >= flight &- 1_000_000 {
        connection.pointee.due.isUnheard = true
      }
      return true
    } rejected: {
      metrics.noteRejection(reason: $0.number)
    }
    takeResponses()
    let (safe, inDoubt) = (outbox.pointee.expired &- expired, outbox.pointee.unknown &- unknown)
    if safe &+ inDoubt > 0 { log?.at(now).due(safe: safe, inDoubt: inDoubt) }
    askSilent(at: now)
  }

  /// If a response, or a missing one, put back a notification that is due, it is resolved instead.
  mutating func endIfDue(_ slot: Int) -> Bool {
    guard outbox.pointee.isDue(slot, at: network.lately) else { return false }
    let metrics = outbox.pointee.metrics
    outbox.pointee.endDue(slot) { metrics.noteRejection(reason: $0.number) }
    return true
  }

  /// A peer that sent nothing for abandoned streams may be gone.
  private mutating func askSilent(at now: Nanoseconds) {
    for number in 0..<connectionCount where connections[number].due.isAny {
      let due = connections[number].due
      connections[number].due = DueStreams()
      connections[number].heldSince = now
      reconnects.ended(nil, otherwise: "no answer to it came before its deadline")
      gaveUp(connections + number, due.long, at: now, isSilent: due.isUnheard)
    }
  }
}
