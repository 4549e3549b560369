import CSystem

/// A time on the monotonic clock by which something has to be done.
struct Deadline {
  let nanoseconds: Nanoseconds

  static var now: Nanoseconds { csystem_monotonic_ns() }

  init(milliseconds: Milliseconds) {
    let (span, overflow) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    let (sum, overflowed) = Self.now.addingReportingOverflow(span)
    nanoseconds = overflow || overflowed ? .max : sum
  }

  init(nanoseconds: Nanoseconds) { self.nanoseconds = nanoseconds }

  /// Milliseconds left, rounded up, as poll() takes them; 0 when it has passed.
  var milliseconds: CInt {
    let left = nanoseconds &- Self.now
    guard left > 0 else { return 0 }
    return CInt(clamping: (left &+ 999_999) / 1_000_000)
  }

  var hasPassed: Bool { Self.now >= nanoseconds }

  func earlier(_ other: Deadline) -> Deadline {
    other.nanoseconds < nanoseconds ? other : self
  }
}
