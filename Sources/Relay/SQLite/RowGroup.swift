/// Rows that a statement finds or changes together, because most of a row's cost is the statement
/// around it.
struct RowGroup {
  /// In ascending order.
  let numbers: ArraySlice<Int64>
  /// Whether no number is missing between the first and the last. That costs the least.
  private let isRange: Bool

  /// The places of a list.
  private static let most = 32
  private static let marks = repeatElement("?", count: most).joined(separator: ", ")
  /// To be able to undo a statement, SQLite keeps the pages that it changes: those of the longest
  /// range in memory, more in a file.
  private static let rangeLengths = 8...64

  /// What follows the name of the column.
  var condition: String { isRange ? " BETWEEN ? AND ?" : " IN (\(Self.marks))" }
  var values: [Int64] {
    isRange ? [numbers.first, numbers.last].compactMap { $0 } : Array(numbers)
  }

  static func all(_ numbers: [Int64]) -> [RowGroup] {
    let numbers = numbers.sorted()
    var groups: [RowGroup] = []
    var scattered: [Int64] = []
    var start = 0
    while start < numbers.count {
      var end = start + 1
      while end < min(numbers.count, start + rangeLengths.upperBound),
        numbers[end] == numbers[end - 1] + 1
      { end += 1 }
      if end - start < rangeLengths.lowerBound {
        scattered += numbers[start..<end]
      } else {
        groups.append(RowGroup(numbers: numbers[start..<end], isRange: true))
      }
      start = end
    }
    for some in scattered.parts(of: most) {
      if some.count == most {
        groups.append(RowGroup(numbers: some, isRange: false))
      } else {
        groups += some.map { RowGroup(numbers: [$0], isRange: true) }
      }
    }
    return groups
  }
}
