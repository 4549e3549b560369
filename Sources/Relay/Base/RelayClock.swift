import Foundation

enum RelayClock {
  /// When it was first asked, by the daemon as it starts.
  static let startedAt = now

  /// UNIX milliseconds.
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Milliseconds of the monotonic clock.
  static var monotonic: Int64 { monotonicMicroseconds / 1000 }

  static var monotonicMicroseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
  }
}
