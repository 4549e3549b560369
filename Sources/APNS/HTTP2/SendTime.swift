/// A time of the monotonic clock as the outbox keeps it: seconds, and 65,536ths of a second in two
/// bytes.
struct SendTime {
  let second: Seconds
  let fraction: UInt16

  init(_ second: Seconds, _ fraction: UInt16) { (self.second, self.fraction) = (second, fraction) }

  init(nanoseconds time: Nanoseconds) {
    second = UInt32(truncatingIfNeeded: time / 1_000_000_000)
    fraction = UInt16(truncatingIfNeeded: (time % 1_000_000_000) << 16 / 1_000_000_000)
  }

  /// 15 microseconds may be missing.
  @inline(__always)
  func since(_ earlier: SendTime) -> Nanoseconds {
    let seconds = Int64(Int32(bitPattern: second &- earlier.second))
    let parts = (seconds << 16) &+ Int64(fraction) &- Int64(earlier.fraction)
    return (parts &* 1_953_125) >> 7
  }
}
