import Client

/// The numbers of a list's devices that have an outcome, from 1. Outcomes come nearly in the list's
/// order, so this needs little memory even for a long list.
struct DoneRecords {
  /// All devices up to this one have an outcome.
  private(set) var through = 0
  private var beyond: Set<Int> = []
  /// Devices with the outcome unknown.
  private(set) var doubtful: Set<Int> = []
  /// Their deadline passed before they were sent.
  private(set) var expired: Set<Int> = []
  /// The outcomes, the last one of each device.
  private(set) var counts = OutcomeCounts()
  /// Rejected or refused; not resent.
  var failed: Int { counts[.rejected] + counts[.refused] }

  mutating func insert(_ number: Int, as kind: SendOutcome.Kind, _ reason: String) {
    if let before = open(number) { counts.forget(before) }
    doubtful.remove(number)
    expired.remove(number)
    if kind == .unknown { doubtful.insert(number) }
    if kind == .expired { expired.insert(number) }
    counts.add(kind, reason)
    guard number > through else { return }
    if number > through + 1 {
      beyond.insert(number)
      return
    }
    through = number
    while beyond.remove(through + 1) != nil { through += 1 }
  }

  /// The outcome of a device that gets another one.
  func open(_ number: Int) -> SendOutcome.Kind? {
    doubtful.contains(number) ? .unknown : expired.contains(number) ? .expired : nil
  }

  func contains(_ number: Int) -> Bool { number <= through || beyond.contains(number) }

  /// The number without an outcome among the first ones.
  func missing(in first: Int) -> Int {
    max(0, first - through - beyond.count { $0 <= first })
  }
}
