import NIOConcurrencyHelpers

/// Counts over all connections of one rule.
final class RunCounts: Sendable {
  private struct Counts {
    var counted = 0
    var accepted = 0
    /// How often the fault may still happen; nil without a limit.
    var strikes: Int?
  }

  private let counts: NIOLockedValueBox<Counts>

  init(_ faults: Faults) { counts = NIOLockedValueBox(Counts(strikes: faults.times)) }

  /// Counts one more notification, and returns their number.
  func count() -> Int {
    counts.withLockedValue { counts in
      counts.counted += 1
      return counts.counted
    }
  }

  /// True for every `limit`-th accepted one.
  func accept(_ limit: Int) -> Bool {
    counts.withLockedValue { counts in
      counts.accepted += 1
      if counts.accepted < limit { return false }
      counts.accepted = 0
      return true
    }
  }

  /// Uses up one of the `times`; false if they are used up.
  func strike() -> Bool {
    counts.withLockedValue { counts in
      guard let left = counts.strikes else { return true }
      if left == 0 { return false }
      counts.strikes = left - 1
      return true
    }
  }
}
