import NIOConcurrencyHelpers

/// Counts over all connections of one rule.
final class RunCounts: Sendable {
  private struct Counts {
    var judged = 0
    var accepted = 0
    /// How often the fault may still happen; nil: without limit.
    var strikes: Int?
  }

  private let counts: NIOLockedValueBox<Counts>

  init(_ faults: Faults) { counts = NIOLockedValueBox(Counts(strikes: faults.times)) }

  /// Returns the number of one more judged notification.
  func judge() -> Int {
    counts.withLockedValue { counts in
      counts.judged += 1
      return counts.judged
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
