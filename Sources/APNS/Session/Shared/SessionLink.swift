/// A connection as sessions over either protocol use it: its phase, when it was last looked at, and
/// since when the peer takes nothing. Its number stays when it is closed and opened again.
struct SessionLink {
  let number: Int
  /// Counts the session's connections, for the log; 0 before the first.
  var serial: UInt32 = 0
  var phase = ConnectionPhase.closed
  /// When it was opened; until then, when opening began.
  var openedAt: Nanoseconds = 0
  /// How long that took.
  var openingTime: Nanoseconds = 0
  /// While it opens: the readiness that it waits for, and when it continues without it.
  var opening: (wants: Readiness, until: Nanoseconds) = ([], 0)
  var lastLook: Nanoseconds = 0
  /// When it was last polled: the latest reading of the clock.
  var askedAt: Nanoseconds = 0
  /// Since when the peer has taken nothing; nil while it takes.
  var stalledSince: Nanoseconds?
  /// It takes nothing until something was read.
  var mustRead = false

  /// A busy connection is polled this often: one system call each time.
  static var lookInterval: Nanoseconds { 500_000 }

  init(_ number: Int) { self.number = number }

  /// Not when it has to be read from first: then it is always ready to be written to.
  var waitsToWrite: Bool { stalledSince != nil && !mustRead }

  /// The connection is open and in use from now on.
  @inline(never)
  mutating func begun<Net: Network & ~Copyable>(on network: inout Net) {
    // Its readiness from opening no longer counts.
    _ = network.readiness(number)
    lastLook = network.now
    stalledSince = nil
    mustRead = false
  }

  /// Whether there is something to read: a wait found it, it is known, or the last look was long
  /// ago and this one finds it.
  @inline(__always)
  mutating func isReadable<Net: Network & ~Copyable>(
    on network: inout Net, orKnown isKnown: Bool = false
  ) -> Bool {
    let now = network.now
    askedAt = now
    if network.readiness(number).contains(.reading) || isKnown {
      lastLook = now
      return true
    }
    guard now &- lastLook >= Self.lookInterval else { return false }
    lastLook = now
    return network.isReadable(number)
  }

  /// The peer takes nothing at the moment; false when that has lasted too long.
  @inline(never)
  mutating func stalled(mustRead: Bool, at now: Nanoseconds, timeout: Nanoseconds) -> Bool {
    self.mustRead = mustRead
    let since = stalledSince ?? now
    stalledSince = since
    return now &- since < timeout
  }

  /// Until when the peer may take nothing; `max`: it takes.
  @inline(__always)
  func stallDue(timeout: Nanoseconds) -> Nanoseconds {
    guard let stalledSince else { return .max }
    return stalledSince &+ timeout
  }

  /// Makes the next wait end when it is ready for what it waits for.
  @inline(never)
  func watch<Net: Network & ~Copyable>(on network: inout Net) {
    switch phase {
    case .closed: break
    case .opening: network.watch(number, for: opening.wants)
    case .open: network.watch(number, for: waitsToWrite ? [.reading, .writing] : .reading)
    }
  }

  @inline(never)
  mutating func close<Net: Network & ~Copyable>(on network: inout Net) {
    network.drop(number)
    phase = .closed
    stalledSince = nil
  }
}

/// How far a connection has come.
enum ConnectionPhase {
  case closed
  case opening
  case open
}
