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
    counts[outcome.kind, default: 0] += 1
    if !outcome.uniqueIdentifier.isEmpty { hasUniqueIdentifiers = true }
    if outcome.sent.isAgain, outcome.kind == .accepted { again += 1 }
    if outcome.kind == .rejected || reasons.count < 64 {
      if !outcome.reason.isEmpty, outcome.kind == .rejected {
        reasons[outcome.reason, default: 0] += 1
      }
    }
  }

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
