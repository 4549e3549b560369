/// The numbers of deleted notifications in the order of deletion, for pages that show them.
struct DeletedNumbers: Sendable {
  private static let keeps = 20_000

  private var numbers: [Int] = []
  /// How many were dropped before the first one here.
  private var dropped = 0

  mutating func add(_ number: Int) {
    numbers.append(number)
    // Not on every call, because it moves all remaining elements.
    if numbers.count > 2 * Self.keeps {
      numbers.removeFirst(Self.keeps)
      dropped += Self.keeps
    }
  }

  /// All after the first `count`, and the total number.
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
