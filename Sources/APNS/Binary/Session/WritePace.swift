/// How far a connection writes ahead of the gateway's answer when rejections come.
///
/// The gateway discards everything after a rejected notification, and it must be resent.
/// Writing a whole window after each rejection would cost the window's bytes each time. When
/// rejections keep coming, a connection begins with a few times the usual distance between two of
/// them. If none arrives in the time that one takes, they have probably ceased: the connection may
/// carry some more, and everything after the same time again.
///
/// The first few rejections only bring the known distance down from a whole window, so that a
/// single late one holds nothing up.
struct Pace {
  /// Bytes that may be written on the connection by now.
  private(set) var allowance = Int.max
  /// When it grows next; `max`: not before all of it is written.
  private(set) var nextGrowth = Nanoseconds.max
  /// Bytes between two rejections, and how long one takes to arrive, both smoothed.
  private var run = 0
  private var delay: Nanoseconds = 0
  /// Rejections since everything was last proven.
  private var rejections = 0
  private var hasGrown = false

  /// Two rejections are rarely further apart than the usual distance times this.
  private static let runs = 4
  /// The allowance grows by this factor once; the next time it is lifted.
  private static let growth = 4
  /// The first rejections each count as much as all before them.
  private static let fewRejections = 8
  private static let leastRun = 1024
  private static let leastDelay: Nanoseconds = 200_000
  private static let maxDelay: Nanoseconds = 1_000_000_000

  /// A connection is about to write its first bytes, from a window of `window` bytes.
  mutating func begin(window: Int) {
    (hasGrown, nextGrowth) = (false, .max)
    allowance = rejections > 0 && Self.runs &* run < window ? Self.runs &* run : .max
  }

  /// `written` bytes are written. The silence after that makes the allowance grow.
  mutating func grow(at now: Nanoseconds, written: Int) {
    guard written >= allowance else { return }
    if nextGrowth == .max {
      nextGrowth = now &+ delay
    } else if now >= nextGrowth {
      allowance = hasGrown ? .max : Self.growth &* allowance
      (hasGrown, nextGrowth) = (true, .max)
    }
  }

  /// A rejection arrived `time` after the connection's first byte, with `bytes` bytes accepted
  /// before it.
  mutating func rejected(after bytes: Int, in time: Nanoseconds, window: Int) {
    let bytes = max(bytes, Self.leastRun)
    let time = min(max(time, Self.leastDelay), Self.maxDelay)
    if rejections == 0 { (run, delay) = (window, time) }
    run = rejections < Self.fewRejections ? (run &+ bytes) / 2 : (3 &* run &+ bytes) / 4
    delay = min((3 &* delay &+ time) / 4, time)
    rejections = min(rejections &+ 1, Self.fewRejections)
  }

  /// Everything that a connection carried was proven: rejections have ceased.
  mutating func proven() { (run, delay, rejections) = (0, 0, 0) }
}
