import Glibc

enum WallClock {
  /// UNIX seconds with three decimals.
  static func secondsText() -> String {
    let now = milliseconds
    let thousandths = String(now % 1000)
    return "\(now / 1000)." + String(repeating: "0", count: 3 - thousandths.count) + thousandths
  }

  static var milliseconds: Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  /// UNIX seconds.
  static var seconds: UInt32 { UInt32(truncatingIfNeeded: time(nil)) }
}
