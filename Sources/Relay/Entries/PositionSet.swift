/// A set of positions in an entry's tokens, one bit each.
package struct PositionSet: Equatable, Sendable, ExpressibleByArrayLiteral {
  private var first: UInt64 = 0
  /// The words from position 64 on. The last one is never 0, so that equal sets have equal words.
  private var rest: [UInt64] = []

  package init() {}

  package init(arrayLiteral positions: Int...) {
    for position in positions { insert(position) }
  }

  package var isEmpty: Bool { first == 0 && rest.isEmpty }

  package func contains(_ position: Int) -> Bool {
    guard position >= 64 else { return position >= 0 && first & 1 << position != 0 }
    let word = position / 64 - 1
    return word < rest.count && rest[word] & 1 << (position % 64) != 0
  }

  package func isSubset(of other: PositionSet) -> Bool {
    guard first & ~other.first == 0, rest.count <= other.rest.count else { return false }
    return zip(rest, other.rest).allSatisfy { $0 & ~$1 == 0 }
  }

  /// Ignores a position that no entry can have.
  package mutating func insert(_ position: Int) {
    guard (0..<NewEntry.mostTokens).contains(position) else { return }
    guard position >= 64 else {
      first |= 1 << position
      return
    }
    let word = position / 64 - 1
    while rest.count <= word { rest.append(0) }
    rest[word] |= 1 << (position % 64)
  }

  /// The number of positions below `end`.
  package func count(below end: Int) -> Int {
    guard end > 0 else { return 0 }
    var count = Self.low(first, end).nonzeroBitCount
    for (index, word) in rest.enumerated() {
      count += Self.low(word, end - 64 * (index + 1)).nonzeroBitCount
    }
    return count
  }

  private static func low(_ word: UInt64, _ count: Int) -> UInt64 {
    count >= 64 ? word : count <= 0 ? 0 : word & ((1 << count) - 1)
  }

  // MARK: As text

  /// The words in hex, 16 digits each, the lowest first; empty for the empty set.
  package var text: String {
    if rest.isEmpty {
      if first == 0 { return "" }
      if first == 1 { return "0000000000000001" }
    }
    return ([first] + rest).map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Parses the format of `text`. Stops at the first malformed word and keeps the positions before
  /// it.
  package init(text: String) {
    let digits = Array(text.utf8)
    for start in stride(from: 0, to: digits.count, by: 16) {
      guard
        let word = UInt64(String(decoding: digits[start...].prefix(16), as: UTF8.self), radix: 16)
      else { return }
      for bit in 0..<64 where word & 1 << bit != 0 { insert(start * 4 + bit) }
    }
  }
}
