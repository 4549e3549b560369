import APNSLibrary

/// Which of a list's devices have an outcome, counted from 1. Outcomes come nearly in the list's
/// order, so this needs little memory even for a long list.
struct DoneRecords {
  /// All up to this one are done.
  private(set) var through = 0
  private var beyond: Set<Int> = []
  /// Outcome unknown: nobody knows whether they arrived.
  private(set) var doubtful: Set<Int> = []
  /// The outcomes, the last one of each device.
  private(set) var counts = OutcomeCounts()
  /// Rejected or refused. Nothing is sent to them again.
  var failed: Int { counts[.rejected] + counts[.refused] }

  mutating func insert(_ number: Int, as kind: SendOutcome.Kind, _ reason: String) {
    if doubtful.remove(number) != nil { counts.forgetUnknown() }
    if kind == .unknown { doubtful.insert(number) }
    counts.add(kind, reason)
    guard number > through else { return }
    if number > through + 1 {
      beyond.insert(number)
      return
    }
    through = number
    while beyond.remove(through + 1) != nil { through += 1 }
  }

  func contains(_ number: Int) -> Bool { number <= through || beyond.contains(number) }

  /// How many of the first ones have no outcome.
  func missing(in first: Int) -> Int {
    max(0, first - through - beyond.count { $0 <= first })
  }
}
