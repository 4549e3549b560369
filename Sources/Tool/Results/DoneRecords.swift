import APNSLibrary

/// The numbers of a list's devices that have an outcome, from 1. Outcomes come nearly in the list's
/// order, so this needs little memory even for a long list.
struct DoneRecords {
  /// All devices up to this one have an outcome.
  private(set) var through = 0
  private var beyond: Set<Int> = []
  /// Devices with the outcome unknown.
  private(set) var doubtful: Set<Int> = []
  /// The outcomes, the last one of each device.
  private(set) var counts = OutcomeCounts()
  /// Rejected or refused; not resent.
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

  /// The number without an outcome among the first ones.
  func missing(in first: Int) -> Int {
    max(0, first - through - beyond.count { $0 <= first })
  }
}
