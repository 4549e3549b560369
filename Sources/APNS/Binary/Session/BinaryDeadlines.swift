import CAPNS

/// Resolves notifications at their deadline.
extension BinarySession where Net: ~Copyable {
  /// Nothing has to have its end before; `max`: nothing ever.
  var nextDeadline: Nanoseconds {
    var next = Nanoseconds.max
    for index in 0..<options.connections {
      next = min(next, connections[index].window.nextDeadline)
    }
    return next
  }

  /// With the option `on_outcome`, each outcome delivered makes room for another that is due.
  mutating func expireAndDeliver() {
    expire()
    while deliver(), nextDeadline == .min { expire() }
  }

  @inline(never)
  mutating func expire() {
    for index in 0..<options.connections where connections[index].window.nextDeadline < .max {
      let now = network.now
      if now >= connections[index].window.nextDeadline {
        hearAndEndDue(connections + index, at: now)
      }
    }
  }

  @inline(never)
  private mutating func hearAndEndDue(
    _ connection: UnsafeMutablePointer<BinaryConnection>, at now: Nanoseconds
  ) {
    do throws(Failure) {
      // The process may have been suspended since the last look: what came until then counts.
      if connection.pointee.window.hasInFlight { try receive(connection) }
    } catch {
      lastFailure.note(error)
    }
    endDue(connection, at: now)
    // Notifications that were resolved may have kept others from being written.
    isCutShort = true
  }

  /// Waiting notifications are not written when they are due.
  @inline(__always)
  mutating func expireWaiting(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    guard connection.pointee.window.hasUnwritten, connection.pointee.window.nextDeadline < .max
    else {
      return
    }
    let now = network.lately
    if now >= connection.pointee.window.nextDeadline {
      endDue(connection, at: now, onlyWaiting: true)
    }
  }

  @inline(never)
  private mutating func endDue(
    _ connection: UnsafeMutablePointer<BinaryConnection>, at now: Nanoseconds,
    onlyWaiting: Bool = false
  ) {
    let hadInFlight = connection.pointee.window.hasInFlight
    let (expired, unknown) = (connection.pointee.window.expired, connection.pointee.window.unknown)
    connection.pointee.window.expire(
      at: now, onlyWaiting: onlyWaiting, pending: connection.pointee.pending)
    let safe = connection.pointee.window.expired &- expired
    let inDoubt = connection.pointee.window.unknown &- unknown
    if safe &+ inDoubt > 0 { log?.at(now).due(safe: safe, inDoubt: inDoubt) }
    guard hadInFlight, !onlyWaiting else { return }
    connection.pointee.traffic.hasUnproven = true
    reconnects.ended(nil, otherwise: "it was not proven before its deadline")
    guard !connection.pointee.window.hasInFlight, !connection.pointee.traffic.sentinel.isBegun
    else {
      return
    }
    // There is nothing left to prove.
    connection.pointee.traffic.quietMark = nil
    if hasWrittenLast(connection) { return close(connection) }
    provenByQuiet(connection)
  }
}
