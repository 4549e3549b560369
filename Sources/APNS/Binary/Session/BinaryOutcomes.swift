import CAPNS

/// Returns outcomes and counts to the caller.
extension BinarySession where Net: ~Copyable {
  mutating func readNow() throws(Failure) {
    for index in 0..<options.connections where connections[index].phase == .open {
      try look(connections + index)
    }
    lastFailure.forget()
    expire()
  }

  /// Reads what has come, and proves what has been in flight for long.
  private mutating func look(_ connection: UnsafeMutablePointer<BinaryConnection>) throws(Failure) {
    callEnds = network.now
    connection.pointee.link.lastLook = callEnds
    if network.isReadable(connection.pointee.link.number) { try receiveReadable(connection) }
    guard connection.pointee.phase == .open else { return }
    expireWaiting(connection)
    noteProof(connection, isWanted: false)
    if connection.pointee.wantsProof { try write(connection, all: true) }
    try prove(connection, isWanted: false)
  }

  /// The oldest outcome of all connections.
  mutating func takeOutcome() -> WaitingOutcome? {
    var oldest: (connection: Int, identifier: UInt32)?
    for index in 0..<options.connections {
      guard let identifier = connections[index].window.firstOutcome else { continue }
      // Identifiers wrap around, so the sign of their difference shows which one is older.
      if let other = oldest, Int32(bitPattern: identifier &- other.identifier) > 0 { continue }
      oldest = (index, identifier)
    }
    guard let oldest else { return nil }
    return connections[oldest.connection].window.takeOutcome()
  }

  var waitingOutcomes: Int { sum { $0.waitingOutcomes } }
  var unresolved: Int { sum { $0.unresolved } }
  var waitsToWrite: Bool {
    for index in 0..<options.connections where connections[index].waitsToWrite { return true }
    return false
  }

  mutating func cancel(_ identifier: UInt32) -> Int {
    var count = 0
    for index in 0..<options.connections {
      count &+= connections[index].window.cancel(identifier, pending: connections[index].pending)
    }
    return count
  }

  /// A count over all connections.
  func sum(_ count: (borrowing Window) -> Int) -> Int {
    var sum = 0
    for index in 0..<options.connections { sum &+= count(connections[index].window) }
    return sum
  }

  var isPushing: Bool { connections[pushing].window.isPushing }
  var hasPushed: Bool { connections[pushing].window.hasPushed }
  mutating func takePushed() -> WaitingOutcome? { connections[pushing].window.takePushed() }
  mutating func rest(until time: Nanoseconds) { network.wait(until: time) }

  mutating func keepPush() {
    pushing = taking
    connections[pushing].window.push()
  }

  var lastEnd: Message { reconnects.lastEnd }

  func count(into stats: inout apns_session_stats_t) {
    stats.connects = connects
    stats.bytes = bytes
    stats.records = records
    stats.forgotten = untaken.pointee.forgotten
    var oldest: UInt32?
    for index in 0..<options.connections {
      let window = connections + index
      stats.taken &+= window.pointee.window.taken
      stats.accepted &+= window.pointee.window.accepted
      stats.rejected &+= window.pointee.window.rejected
      stats.unknown &+= window.pointee.window.unknown
      stats.cancelled &+= window.pointee.window.cancelled
      stats.expired &+= window.pointee.window.expired
      stats.resent &+= window.pointee.window.resent
      stats.unresolved &+= UInt64(window.pointee.window.unresolved.magnitude)
      stats.events &+= UInt64(window.pointee.window.waitingOutcomes.magnitude)
      stats.window &+= UInt64(window.pointee.window.ring.live.magnitude)
      if window.pointee.phase == .open {
        stats.in_flight &+= UInt64(window.pointee.window.inFlight.magnitude)
      }
      if let identifier = window.pointee.window.firstUnresolved {
        if let other = oldest, Int32(bitPattern: identifier &- other) > 0 { continue }
        oldest = identifier
      }
    }
    stats.first_unresolved = oldest ?? 0
  }

  mutating func measure() -> UnsafePointer<apns_session_metrics_t> {
    metrics.forgetConnections()
    var (resent, inDoubt): (UInt64, UInt64) = (0, 0)
    for index in 0..<options.connections {
      let connection = connections + index
      resent &+= connection.pointee.window.resent
      inDoubt &+= connection.pointee.window.resentInDoubt
      note(connection.pointee.phase, isDraining: connection.pointee.traffic.sentinel.isBegun)
      switch connection.pointee.standby.phase {
      case .open: metrics.pointee.standby &+= 1
      case .opening, .closed: note(connection.pointee.standby.phase, isDraining: false)
      }
    }
    metrics.pointee.resends_in_doubt = inDoubt
    metrics.pointee.resends_unprocessed = resent &- inDoubt
    metrics.pointee.bytes_written = bytes
    metrics.complete(network.handshakes, pause: reconnects.earliest &- network.now)
    return UnsafePointer(metrics)
  }

  private func note(_ phase: ConnectionPhase, isDraining: Bool) {
    switch phase {
    case .closed: break
    case .opening: metrics.pointee.connecting &+= 1
    case .open where isDraining: metrics.pointee.draining &+= 1
    case .open: metrics.pointee.open &+= 1
    }
  }
}
