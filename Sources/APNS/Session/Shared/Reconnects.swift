/// When the next connection may be made. Rapid reconnects are an attack in the
/// gateway's eyes (Apple's advice: keep connections open).
struct Reconnects {
  /// Connections in a row, made or not, that achieved nothing.
  private(set) var fruitless = 0
  /// When the next may be made.
  private var notBefore: Nanoseconds = 0
  /// Why the last connection was given up that achieved nothing, where that is known: whoever
  /// waits for the next is told.
  private(set) var reason: Failure?
  private var hasReason = false
  private let longestPause: Nanoseconds
  /// With a cap, half of a minute's connections may come at once and the other half is
  /// spread over it, so that no minute sees more. How far apart those are; 0: no cap.
  private let spacing: Nanoseconds
  private let burst: Int64
  /// When all of the burst may be used again.
  private var wholeAt: Nanoseconds = 0

  private static let firstPause: Nanoseconds = 50_000_000
  private static let minute: Nanoseconds = 60_000_000_000

  /// `longestPause` in ns; `perMinute` 0: as many as it takes.
  init(longestPause: Nanoseconds, perMinute: Int64) {
    self.longestPause = longestPause
    spacing = perMinute > 0 ? Self.minute / max(perMinute / 2, 1) : 0
    burst = max(perMinute &- perMinute / 2, 1)
  }

  /// The time at which the next may be made.
  var earliest: Nanoseconds {
    @inline(never) get {
      guard spacing > 0 else { return notBefore }
      return max(notBefore, wholeAt &- spacing &* (burst &- 1))
    }
  }

  mutating func opened(at now: Nanoseconds) {
    if spacing > 0 { wholeAt = max(wholeAt, now) &+ spacing }
  }

  mutating func achieved() {
    fruitless = 0
    notBefore = 0
    // Each answer comes by here, and a failure is large.
    if hasReason { forgetReason() }
  }

  @inline(never)
  mutating func note(_ failure: Failure) {
    reason = failure
    hasReason = true
  }

  @inline(never)
  private mutating func forgetReason() {
    reason = nil
    hasReason = false
  }

  /// After one that achieved nothing comes a pause, twice as long each time, and
  /// never the same for two providers.
  mutating func achievedNothing(at now: Nanoseconds, random: UInt64) {
    let pause = min(Self.firstPause &<< Int64(min(fruitless, 20)), longestPause)
    fruitless &+= 1
    notBefore = now &+ pause / 2 &+ Int64(random % UInt64(pause / 2 &+ 1))
  }
}
