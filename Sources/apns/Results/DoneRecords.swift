import APNSLibrary

/// Which of a list's devices have their end, from 1. They end nearly in the list's order, so
/// this needs little memory however long the list is.
struct DoneRecords {
  /// All up to here.
  private(set) var through = 0
  private var beyond: Set<Int> = []
  /// Ended as unknown: whether they arrived nobody knows.
  private(set) var doubtful: Set<Int> = []
  /// Ended as rejected or refused, which they stay: nothing is sent to them again.
  private(set) var failed = 0

  mutating func insert(_ number: Int, as kind: SendOutcome.Kind) {
    if kind == .unknown { doubtful.insert(number) } else { doubtful.remove(number) }
    if kind == .rejected || kind == .refused { failed += 1 }
    guard number > through else { return }
    if number > through + 1 {
      beyond.insert(number)
      return
    }
    through = number
    while beyond.remove(through + 1) != nil { through += 1 }
  }

  func contains(_ number: Int) -> Bool { number <= through || beyond.contains(number) }

  /// How many have no end among the first so many.
  func missing(in first: Int) -> Int {
    max(0, first - through - beyond.count { $0 <= first })
  }
}
