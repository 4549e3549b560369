/// The connection of its own on which what may be ending connections flies apart from others, so that
/// they need not wait for it.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Decides which channel that is; true if it is another one than before, and open.
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
    if idle >= 0, !outbox.pointee.isDue(at: Self.second(network.now)) {
      apart = idle
    } else if apart >= 0, channels[apart].isTaking {
      return false
    } else if mayHaveMore {
      // Where all places are taken, one that is being left will be free in time.
      apart = free
    } else {
      // The others wait meanwhile, if it is the only one.
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

  /// The channel has no connection, and what flies apart waits for it.
  @inline(__always)
  func isMissing(_ number: Int, _ goal: SessionGoal) -> Bool {
    if case .leaving = goal { return false }
    return number == apart && outbox.pointee.hasApart && channels[number].phase == .closed
      && mayHaveMore
  }

  /// The channel begins only what flies apart.
  @inline(__always)
  func isForApart(_ channel: UnsafeMutablePointer<HTTP2Channel>) -> Bool {
    channel.pointee.number == apart
      && (outbox.pointee.hasApart || channel.pointee.http.pointee.isApart)
  }

  /// Nothing is in flight on the channel, and nothing has to fly apart: it serves all again, or is one
  /// too many.
  @inline(never)
  mutating func leaveApart(_ channel: UnsafeMutablePointer<HTTP2Channel>) {
    if channel.pointee.number == apart {
      if outbox.pointee.hasApart { return }
      apart = -1
    }
    var taking = 0
    for number in 0..<channelCount where channels[number].isTaking && number != apart {
      taking &+= 1
    }
    if taking > options.connections { channel.pointee.http.pointee.leave() }
  }
}
