/// The entries with something to record, and when that is due.
struct OutcomeBatch {
  /// A transaction is due after this many outcomes, after `longestMS`, or at half of what is in
  /// hand, so that a small window does not wait for the clock.
  private static let most = 512
  private static let longestMS: Int64 = 40

  private(set) var entries: [HeldEntry] = []
  private var count = 0
  private var began: Int64 = 0
  /// After a failure: not before this time (monotonic). 0 if the last attempt succeeded.
  var retryAt: Int64 = 0

  var isEmpty: Bool { entries.isEmpty }
  /// The number of outcomes.
  var outcomes: Int { entries.reduce(0) { $0 + $1.fresh.count } }
  /// The number of notifications that wait only for it.
  var resolved: Int {
    entries.reduce(outcomes) { $0 + ($1.disposition == nil ? 0 : $1.unresolved) }
  }
  var due: Int64 { max(retryAt, began + Self.longestMS) }

  mutating func add(_ held: HeldEntry) {
    if entries.isEmpty { began = RelayClock.monotonic }
    if !held.isChanged {
      held.isChanged = true
      entries.append(held)
    }
    count += 1
  }

  func isDue(at now: Int64, inHand: Int) -> Bool {
    !entries.isEmpty && now >= retryAt
      && (count >= Self.most || 2 * count >= inHand || now - began >= Self.longestMS)
  }

  /// They are recorded.
  mutating func clear() {
    entries.removeAll(keepingCapacity: true)
    count = 0
    retryAt = 0
  }
}
