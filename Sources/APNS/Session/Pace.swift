/// How much a connection carries ahead of the gateway's word where rejections come.
///
/// What lies behind a rejected notification is discarded and has to be sent again, so
/// writing all of a window behind each would cost the window's bytes for each. As long
/// as rejections come, a connection begins with a few times what lay between the last
/// ones, and doubles that as often as the delay passes in which one would have been heard.
struct Pace {
  /// Bytes that may be written on the connection by now.
  private(set) var allowance = Int.max
  /// When it grows next.
  private(set) var nextGrowth = Int64.max
  /// Bytes between rejections, and how long one takes to be heard, both smoothed; 0:
  /// none came lately.
  private var run = 0
  private var delay: Int64 = 0

  /// So many times the usual distance rarely lie between two rejections.
  private static let runs = 4
  private static let leastRun = 1024
  private static let leastDelay: Int64 = 200_000
  private static let mostDelay: Int64 = 1_000_000_000

  /// A connection's first bytes are about to be written.
  mutating func begin(at now: Int64) {
    guard run > 0 else {
      (allowance, nextGrowth) = (.max, .max)
      return
    }
    allowance = Self.runs &* run
    nextGrowth = now &+ delay
  }

  /// Lets the allowance grow with the silence; above `enough` there is none.
  mutating func grow(at now: Int64, enough: Int) {
    while now >= nextGrowth {
      allowance &*= 2
      nextGrowth &+= delay
      if allowance > enough { (allowance, nextGrowth) = (.max, .max) }
    }
  }

  /// A rejection was heard, with so many bytes accepted before it, so long after the
  /// connection's first.
  mutating func rejected(after bytes: Int, in time: Int64) {
    let bytes = max(bytes, Self.leastRun)
    let time = min(max(time, Self.leastDelay), Self.mostDelay)
    run = run == 0 ? bytes : (3 &* run &+ bytes) / 4
    delay = delay == 0 ? time : min((3 &* delay &+ time) / 4, time)
  }

  /// All that a connection carried was proven: rejections come no more.
  mutating func proven() { (run, delay) = (0, 0) }
}
