import APNSLibrary

/// The outcomes of a run, counted.
struct OutcomeCounts {
  private(set) var counts: [SendOutcome.Kind: Int] = [:]
  private(set) var reasons: [String: Int] = [:]
  /// Sent again although they may have arrived.
  private(set) var again = 0
  /// The service gave identifiers that its console knows.
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

  /// These and the others; what only one run knows is that of the others.
  func with(_ others: OutcomeCounts) -> OutcomeCounts {
    var sum = others
    sum.counts.merge(counts, uniquingKeysWith: +)
    sum.reasons.merge(reasons, uniquingKeysWith: +)
    return sum
  }

  /// A device of unknown outcome gets another one.
  mutating func forgetUnknown() { counts[.unknown, default: 0] -= 1 }

  var isAllAccepted: Bool { self[.accepted] == ended }

  static func grouped(_ number: Int) -> String {
    var out = ""
    for (index, digit) in "\(number)".enumerated() {
      if index > 0, ("\(number)".count - index) % 3 == 0 { out += "," }
      out.append(digit)
    }
    return out
  }
}
