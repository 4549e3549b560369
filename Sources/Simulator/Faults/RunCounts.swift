import NIOConcurrencyHelpers

/// What the connections under one rule count together.
final class RunCounts: Sendable {
  private struct Counts {
    var judged = 0
    var accepted = 0
    /// How often it may strike yet; nil is without end.
    var strikes: Int?
  }

  private let counts: NIOLockedValueBox<Counts>

  init(_ faults: Faults) { counts = NIOLockedValueBox(Counts(strikes: faults.times)) }

  /// The number of one more that is judged.
  func judge() -> Int {
    counts.withLockedValue { counts in
      counts.judged += 1
      return counts.judged
    }
  }

  /// True for every `limit`-th that is accepted.
  func accept(_ limit: Int) -> Bool {
    counts.withLockedValue { counts in
      counts.accepted += 1
      if counts.accepted < limit { return false }
      counts.accepted = 0
      return true
    }
  }

  /// Takes one of the times that are left; false where none is.
  func strike() -> Bool {
    counts.withLockedValue { counts in
      guard let left = counts.strikes else { return true }
      if left == 0 { return false }
      counts.strikes = left - 1
      return true
    }
  }
}
