/// How many notifications fly together on a connection.
///
/// A notification whose arrival ends its connection puts all in doubt that fly with it, and
/// each of those may be sent five times at most. So the more often one was in doubt, the
/// fewer fly with it, down to none: the fifth time each is alone, and it is the culprit
/// that ends as unknown.
struct FlightLimit {
  /// How many are in flight that were in doubt once, twice, three times, more often.
  private var doubtful = InlineArray<4, Int32>(repeating: 0)

  /// After so many sendings in doubt a notification is not sent again.
  static var mostDoubts: UInt8 { 5 }

  /// At most so many fly with one that was in doubt so often, itself included.
  static func most(for doubts: UInt8) -> Int {
    switch doubts {
    case 0: .max
    case 1: 256
    case 2: 32
    case 3: 4
    default: 1
    }
  }

  /// At most so many may fly with those that do.
  private(set) var most = Int.max

  private mutating func update() {
    most = .max
    for level in stride(from: 4, through: 1, by: -1) where doubtful[level &- 1] > 0 {
      most = Self.most(for: UInt8(truncatingIfNeeded: level))
      return
    }
  }

  @inline(__always)
  mutating func joined(_ doubts: UInt8) {
    if doubts > 0 { count(doubts, 1) }
  }

  @inline(__always)
  mutating func left(_ doubts: UInt8) {
    if doubts > 0 { count(doubts, -1) }
  }

  @inline(never)
  private mutating func count(_ doubts: UInt8, _ change: Int32) {
    doubtful[Int(min(doubts, 4)) &- 1] &+= change
    update()
  }
}
