/// How much a connection carries ahead of the gateway's word where rejections come.
///
/// What lies behind a rejected notification is discarded and has to be sent again, so
/// writing all of a window behind each would cost the window's bytes for each. Where
/// rejections come again and again, a connection begins with a few times what usually lies
/// between them. Where none is heard of that in the time that one takes, they have ceased
/// most likely: then it may carry some more, and all after as long again.
///
/// The first few rejections only bring what is known from a whole window down to that
/// distance, so that one which is heard late holds up nothing.
struct Pace {
  /// Bytes that may be written on the connection by now.
  private(set) var allowance = Int.max
  /// When it grows next; `max`: not before all of it is written.
  private(set) var nextGrowth = Nanoseconds.max
  /// Bytes between rejections, and how long one takes to be heard, both smoothed.
  private var run = 0
  private var delay: Nanoseconds = 0
  /// Rejections since all was proven.
  private var rejections = 0
  private var hasGrown = false

  /// So many times the usual distance rarely lie between two rejections.
  private static let runs = 4
  /// The allowance grows by that once, and is none the next time.
  private static let growth = 4
  /// Until so many have come each counts as much as all before it.
  private static let fewRejections = 8
  private static let leastRun = 1024
  private static let leastDelay: Nanoseconds = 200_000
  private static let mostDelay: Nanoseconds = 1_000_000_000

  /// A connection's first bytes are about to be written, of a window of so many.
  mutating func begin(window: Int) {
    (hasGrown, nextGrowth) = (false, .max)
    allowance = rejections > 0 && Self.runs &* run < window ? Self.runs &* run : .max
  }

  /// So many bytes are written. Lets the allowance grow with the silence after that.
  mutating func grow(at now: Nanoseconds, written: Int) {
    guard written >= allowance else { return }
    if nextGrowth == .max {
      nextGrowth = now &+ delay
    } else if now >= nextGrowth {
      allowance = hasGrown ? .max : Self.growth &* allowance
      (hasGrown, nextGrowth) = (true, .max)
    }
  }

  /// A rejection was heard, with so many bytes accepted before it, so long after the
  /// connection's first.
  mutating func rejected(after bytes: Int, in time: Nanoseconds, window: Int) {
    let bytes = max(bytes, Self.leastRun)
    let time = min(max(time, Self.leastDelay), Self.mostDelay)
    if rejections == 0 { (run, delay) = (window, time) }
    run = rejections < Self.fewRejections ? (run &+ bytes) / 2 : (3 &* run &+ bytes) / 4
    delay = min((3 &* delay &+ time) / 4, time)
    rejections = min(rejections &+ 1, Self.fewRejections)
  }

  /// All that a connection carried was proven: rejections come no more.
  mutating func proven() { (run, delay, rejections) = (0, 0, 0) }
}
