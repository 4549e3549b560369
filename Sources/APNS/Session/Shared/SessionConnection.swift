/// A line of the network as sessions over either protocol use it: what it is good for at the
/// moment, when it was looked at, and since when the peer takes nothing.
struct SessionConnection {
  let number: Int
  var phase = ConnectionPhase.closed
  /// When its connection was opened; that of a spare one: begun, until it is open.
  var openedAt: Nanoseconds = 0
  var lastLook: Nanoseconds = 0
  /// Since when the peer has taken nothing; nil while it takes.
  var stalledSince: Nanoseconds?
  /// That is so until something was read.
  var mustRead = false

  /// A busy connection is looked at that often: one system call in so many ns.
  static var lookInterval: Nanoseconds { 500_000 }

  init(_ number: Int) { self.number = number }

  /// It could be written to all the while where it has to be read from first.
  var waitsToWrite: Bool { stalledSince != nil && !mustRead }

  /// The line is open, and from now on the one in use.
  @inline(never)
  mutating func begun<Net: Network & ~Copyable>(on network: inout Net) {
    // What it was ready for while it opened is done with.
    _ = network.readiness(number)
    lastLook = network.now
    stalledSince = nil
    mustRead = false
  }

  /// Whether there is something to be heard: a wait found it, it is known, or the last look
  /// is long ago and this one finds it.
  @inline(__always)
  mutating func hasNews<Net: Network & ~Copyable>(
    on network: inout Net, orKnown isKnown: Bool = false
  ) -> Bool {
    let now = network.now
    if network.readiness(number).contains(.reading) || isKnown {
      lastLook = now
      return true
    }
    guard now &- lastLook >= Self.lookInterval else { return false }
    lastLook = now
    return network.hasNews(number)
  }

  /// The peer takes nothing at the moment. Until when that may be so; nil: it has been for
  /// too long.
  @inline(never)
  mutating func stalled(mustRead: Bool, at now: Nanoseconds, atMost longest: Nanoseconds)
    -> Nanoseconds?
  {
    self.mustRead = mustRead
    let since = stalledSince ?? now
    stalledSince = since
    return now &- since < longest ? since &+ longest : nil
  }

  @inline(never)
  mutating func close<Net: Network & ~Copyable>(on network: inout Net) {
    network.drop(number)
    phase = .closed
    stalledSince = nil
  }
}

/// What a line is good for at the moment.
enum ConnectionPhase {
  case closed
  case opening
  case open
}
