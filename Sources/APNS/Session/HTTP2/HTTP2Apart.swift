/// A separate connection for notifications that may be ending connections, so that others need not
/// wait for them.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Chooses the connection; true if it changed and is open.
  @inline(never)
  @discardableResult
  mutating func chooseApart() -> Bool {
    if apart >= 0, channels[apart].phase == .open, channels[apart].isTaking { return false }
    var (idle, last, free) = (-1, -1, -1)
    for number in 0..<channelCount {
      if channels[number].phase == .closed {
        if free < 0 || number == apart { free = number }
      } else if channels[number].isTaking {
        last = number
        if channels[number].phase == .open, channels[number].http.pointee.inFlight == 0 {
          idle = number
        }
      }
    }
    if idle >= 0, !outbox.pointee.isDue(at: network.now) {
      apart = idle
    } else if apart >= 0, channels[apart].isTaking {
      return false
    } else if mayHaveMore {
      // If all places are in use, a draining connection will be free in time.
      apart = free
    } else {
      // The others wait meanwhile, if this is the only connection.
      apart = last
    }
    return apart >= 0 && channels[apart].phase == .open
  }

  /// No limit of a running session prevents another connection.
  private var mayHaveMore: Bool {
    guard connectionLimit < .max else { return true }
    var used = 0
    for number in 0..<channelCount where channels[number].phase != .closed { used &+= 1 }
    return used < connectionLimit
  }

  /// The channel has no connection, and notifications to be sent apart wait for it.
  @inline(__always)
  func isMissing(_ number: Int, _ goal: SessionGoal) -> Bool {
    if case .leaving = goal { return false }
    return number == apart && outbox.pointee.hasApart && channels[number].phase == .closed
      && mayHaveMore
  }

  /// The channel starts only notifications that are sent apart.
  @inline(__always)
  func isForApart(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Bool {
    channel.pointee.number == apart
      && (outbox.pointee.hasApart || channel.pointee.http.pointee.isApart)
  }

  /// Nothing is in flight on the channel, and nothing must be sent apart: it serves all
  /// notifications again, or is extra.
  @inline(never)
  mutating func leaveExtra(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    if channel.pointee.number == apart {
      if outbox.pointee.hasApart { return }
      apart = -1
    }
    let (all, held) = countTaking()
    if all &- held > options.connections { channel.pointee.http.pointee.leave() }
  }

  /// Nothing is in flight on the channel, and it is extra because another is no longer held.
  func isIdleExtra(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Bool {
    guard channel.pointee.number != apart, channel.pointee.isTaking,
      channel.pointee.http.pointee.inFlight == 0
    else { return false }
    let (all, held) = countTaking()
    return all &- held > options.connections
  }

  /// How many connections serve notifications not sent apart, and how many of them are held.
  func countTaking() -> (all: Int, held: Int) {
    let now = network.now
    var (all, held) = (0, 0)
    for number in 0..<channelCount where channels[number].isTaking && number != apart {
      all &+= 1
      if held < options.connections, now >= heldDue(channels + number) { held &+= 1 }
    }
    return (all, held)
  }

  /// When the one stream that the peer allows has had its time, so that others need another
  /// connection; `max`: it allows more.
  func heldDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Nanoseconds {
    guard channel.pointee.phase == .open, channel.pointee.http.pointee.isHeld else { return .max }
    return channel.pointee.heldSince &+ max(250_000_000, 2 &* patience(channel))
  }

  /// When a provider token without an answer is tried with more streams; `max`: not now.
  @inline(__always)
  func trialDue(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Nanoseconds {
    guard channel.pointee.http.pointee.isUntried, channel.pointee.http.pointee.inFlight > 0,
      channel.pointee.http.pointee.trials < HTTP2Connection.mostTrials
    else { return .max }
    return max(channel.pointee.heldSince, channel.pointee.triedAt) &+ patience(channel)
  }

  /// How long a response may take on a new connection before other notifications stop waiting for
  /// it. Opening one takes a few round trips.
  private func patience(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Nanoseconds {
    min(max(channel.pointee.connection.openingTime, 25_000_000), 250_000_000)
  }
}
