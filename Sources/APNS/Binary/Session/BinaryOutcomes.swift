import CAPNS

/// Returns outcomes and counts to the caller.
extension BinarySession where Net: ~Copyable {
  /// The next outcome; nil if none came by the deadline. With `milliseconds` 0 no connection is
  /// made and only proofs are written.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure) -> WaitingOutcome? {
    standing.hasDelivered = false
    if let outcome = takeOutcome() {
      standing.tookOutcome()
      // Another one may have room now.
      if options.neverWaits, nextDeadline == .min { hurry() }
      return outcome
    }
    if isClosed || options.neverWaits { return nil }
    if milliseconds == 0 {
      for index in 0..<options.connections where channels[index].phase == .open {
        try look(channels + index)
      }
      trouble.forget()
      expire()
      if let failure = trouble.failure { throw failure }
      return options.onOutcome == nil ? takeOutcome() : nil
    }
    let deadline = deadline(milliseconds: milliseconds)
    do throws(Failure) {
      try run(until: .outcome, by: deadline)
    } catch {
      // A missing outcome is not a failure, but being unable to write anything is.
      if error.status != APNS_ERR_TIMEOUT || waitsToWrite { throw error }
    }
    return options.onOutcome == nil ? takeOutcome() : nil
  }

  /// Reads what has come, and proves what has been in flight for long.
  private mutating func look(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    callEnds = network.now
    channel.pointee.connection.lastLook = callEnds
    if network.hasNews(channel.pointee.connection.number) { try receiveNews(channel) }
    guard channel.pointee.phase == .open else { return }
    expireWaiting(channel)
    noteProof(channel, isWanted: false)
    if channel.pointee.wantsProof { try write(channel, all: true) }
    try prove(channel, isWanted: false)
  }

  /// The oldest outcome of all channels.
  mutating func takeOutcome() -> WaitingOutcome? {
    var oldest: (channel: Int, identifier: UInt32)?
    for index in 0..<options.connections {
      guard let identifier = channels[index].window.firstOutcome else { continue }
      // Identifiers wrap around, so the sign of their difference shows which one is older.
      if let other = oldest, Int32(bitPattern: identifier &- other.identifier) > 0 { continue }
      oldest = (index, identifier)
    }
    guard let oldest else { return nil }
    return channels[oldest.channel].window.takeOutcome()
  }

  var hasOutcome: Bool { waitingOutcomes > 0 || standing.hasDelivered }

  var waitingOutcomes: Int { sum { $0.waitingOutcomes } }
  var unresolved: Int { sum { $0.unresolved } }
  private var waitsToWrite: Bool {
    for index in 0..<options.connections where channels[index].waitsToWrite { return true }
    return false
  }

  mutating func cancel(_ identifier: UInt32) -> Int {
    var count = 0
    for index in 0..<options.connections {
      count &+= channels[index].window.cancel(identifier, pending: channels[index].pending)
    }
    return count
  }

  /// A count over all channels.
  func sum(_ count: (borrowing Window) -> Int) -> Int {
    var sum = 0
    for index in 0..<options.connections { sum &+= count(channels[index].window) }
    return sum
  }

  var isPushing: Bool { channels[pushing].window.isPushing }
  var hasPushed: Bool { channels[pushing].window.hasPushed }
  mutating func takePushed() -> WaitingOutcome? { channels[pushing].window.takePushed() }
  mutating func rest(until time: Nanoseconds) { network.wait(until: time) }

  mutating func push() {
    pushing = taking
    channels[pushing].window.push()
    pushIdentifier = nextIdentifier == 1 ? .max : nextIdentifier &- 1
  }

  var lastEnd: Message { reconnects.lastEnd }

  func count(into stats: inout apns_session_stats_t) {
    stats.connects = connects
    stats.bytes = bytes
    stats.records = records
    stats.forgotten = untaken.pointee.forgotten
    var oldest: UInt32?
    for index in 0..<options.connections {
      let window = channels + index
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
      let channel = channels + index
      resent &+= channel.pointee.window.resent
      inDoubt &+= channel.pointee.window.resentInDoubt
      note(channel.pointee.phase, isDraining: channel.pointee.sentinel.isBegun)
      switch channel.pointee.spare.phase {
      case .open: metrics.pointee.standby &+= 1
      case .opening, .closed: note(channel.pointee.spare.phase, isDraining: false)
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
