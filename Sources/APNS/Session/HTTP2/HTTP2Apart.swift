/// A separate connection for notifications that may be ending connections, so that others need not
/// wait for them.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Chooses the connection; true if it changed and is open.
  @inline(never)
  @discardableResult
  mutating func chooseApart() -> Bool {
    if apart >= 0, connections[apart].phase == .open, connections[apart].isTaking { return false }
    var (idle, last, free) = (-1, -1, -1)
    for number in 0..<connectionCount {
      if connections[number].phase == .closed {
        if free < 0 || number == apart { free = number }
      } else if connections[number].isTaking {
        last = number
        if connections[number].phase == .open, connections[number].codec.pointee.inFlight == 0 {
          idle = number
        }
      }
    }
    if idle >= 0, !outbox.pointee.isDue(at: network.now) {
      apart = idle
    } else if apart >= 0, connections[apart].isTaking {
      return false
    } else if mayHaveMore {
      // If all places are in use, a draining connection will be free in time.
      apart = free
    } else {
      // The others wait meanwhile, if this is the only connection.
      apart = last
    }
    return apart >= 0 && connections[apart].phase == .open
  }

  /// No limit of a running session prevents another connection.
  private var mayHaveMore: Bool {
    guard connectionLimit < .max else { return true }
    var used = 0
    for number in 0..<connectionCount where connections[number].phase != .closed { used &+= 1 }
    return used < connectionLimit
  }

  /// The connection is closed, and notifications to be sent apart wait for it.
  @inline(__always)
  func isMissing(_ number: Int, _ goal: SessionGoal) -> Bool {
    if case .closing = goal { return false }
    return number == apart && outbox.pointee.hasApart && connections[number].phase == .closed
      && mayHaveMore
  }

  /// The connection starts only notifications that are sent apart.
  @inline(__always)
  func isForApart(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Bool {
    connection.pointee.number == apart
      && (outbox.pointee.hasApart || connection.pointee.codec.pointee.isApart)
  }

  /// Nothing is in flight on the connection, and nothing must be sent apart: it serves all
  /// notifications again, or is extra.
  @inline(never)
  mutating func drainExtra(_ connection: UnsafeMutablePointer<HTTP2Connection>) {
    if connection.pointee.number == apart {
      if outbox.pointee.hasApart { return }
      apart = -1
    }
    let (all, held) = countTaking()
    if all &- held > options.connections { connection.pointee.codec.pointee.drain() }
  }

  /// Nothing is in flight on the connection, and it is extra because another is no longer held.
  func isIdleExtra(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Bool {
    guard connection.pointee.number != apart, connection.pointee.isTaking,
      connection.pointee.codec.pointee.inFlight == 0
    else { return false }
    let (all, held) = countTaking()
    return all &- held > options.connections
  }

  /// How many connections serve notifications not sent apart, and how many of them are held.
  func countTaking() -> (all: Int, held: Int) {
    let now = network.now
    var (all, held) = (0, 0)
    for number in 0..<connectionCount where connections[number].isTaking && number != apart {
      all &+= 1
      if held < options.connections, now >= heldDue(connections + number) { held &+= 1 }
    }
    return (all, held)
  }

  /// When the one stream that the peer allows has had its time, so that others need another
  /// connection; `max`: it allows more.
  func heldDue(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Nanoseconds {
    guard connection.pointee.phase == .open, connection.pointee.codec.pointee.isHeld else {
      return .max
    }
    return connection.pointee.heldSince &+ max(250_000_000, 2 &* timeout(connection))
  }

  /// When a provider token without an answer is tried with more streams; `max`: not now.
  @inline(__always)
  func trialDue(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Nanoseconds {
    guard connection.pointee.codec.pointee.isUntried, connection.pointee.codec.pointee.inFlight > 0,
      connection.pointee.codec.pointee.trials < HTTP2Codec.maxTrials
    else { return .max }
    return max(connection.pointee.heldSince, connection.pointee.triedAt) &+ timeout(connection)
  }

  /// How long a response may take on a new connection before other notifications stop waiting for
  /// it. Opening one takes a few round trips.
  private func timeout(_ connection: UnsafeMutablePointer<HTTP2Connection>) -> Nanoseconds {
    min(max(connection.pointee.link.openingTime, 25_000_000), 250_000_000)
  }
}
