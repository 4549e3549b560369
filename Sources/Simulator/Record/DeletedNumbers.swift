/// Which notifications were deleted, in the order in which they were, for pages that show them.
struct DeletedNumbers: Sendable {
  private static let keeps = 20_000

  private var numbers: [Int] = []
  /// How many there were before the first of them.
  private var dropped = 0

  mutating func add(_ number: Int) {
    numbers.append(number)
    // Seldom, for it moves all that stay.
    if numbers.count > 2 * Self.keeps {
      numbers.removeFirst(Self.keeps)
      dropped += Self.keeps
    }
  }

  /// Those after the first so many, and how many there were.
  func numbers(after count: Int) -> ([Int], Int) {
    let from = min(max(0, count - dropped), numbers.count)
    return (Array(numbers[from...]), dropped + numbers.count)
  }

  func count(where holds: (Int) -> Bool) -> Int { numbers.lazy.filter(holds).count }

  mutating func forget() {
    dropped += numbers.count
    numbers = []
  }
}
