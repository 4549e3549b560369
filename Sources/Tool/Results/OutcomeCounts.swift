import Client

struct OutcomeCounts {
  private(set) var counts: [SendOutcome.Kind: Int] = [:]
  private(set) var reasons: [String: Int] = [:]
  /// Accepted in this run, although an earlier run may already have sent them.
  private(set) var again = 0
  /// The service sent IDs that its console lists.
  private(set) var hasUniqueIdentifiers = false

  subscript(kind: SendOutcome.Kind) -> Int { counts[kind] ?? 0 }

  var ended: Int { counts.values.reduce(0, +) }

  mutating func add(_ outcome: SendOutcome) {
    add(outcome.kind, outcome.reason)
    if !outcome.uniqueIdentifier.isEmpty { hasUniqueIdentifiers = true }
    if outcome.sent.isAgain, outcome.kind == .accepted { again += 1 }
  }

  mutating func add(_ kind: SendOutcome.Kind, _ reason: String) {
    counts[kind, default: 0] += 1
    if kind == .rejected, !reason.isEmpty { reasons[reason, default: 0] += 1 }
  }

  /// The sum of both; values of a single run are the other's.
  func with(_ others: OutcomeCounts) -> OutcomeCounts {
    var sum = others
    sum.counts.merge(counts, uniquingKeysWith: +)
    sum.reasons.merge(reasons, uniquingKeysWith: +)
    return sum
  }

  /// A device of that outcome gets another one.
  mutating func forget(_ kind: SendOutcome.Kind) { counts[kind, default: 0] -= 1 }

  var isAllAccepted: Bool { self[.accepted] == ended }
}
