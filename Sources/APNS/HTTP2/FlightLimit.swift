/// How many notifications are in flight together on a connection.
///
/// A notification whose arrival ends its connection puts everything in doubt that is in flight with
/// it, and each notification may be sent five times in doubt. So the more often one was in doubt,
/// the fewer are in flight with it, down to none: the fifth time each is alone, and only the
/// culprit ends as unknown.
struct FlightLimit {
  /// How many in flight were in doubt once, twice, three times, and more often.
  private var doubtful = InlineArray<4, Int32>(repeating: 0)

  /// After so many ends in doubt a notification is not sent again.
  static var mostDoubts: UInt8 { 5 }

  /// How many may be in flight with one that was in doubt so often, itself included.
  static func most(for doubts: UInt8) -> Int {
    switch doubts {
    case 0: .max
    case 1: 256
    case 2: 32
    case 3: 4
    default: 1
    }
  }

  /// How many may be in flight with those that are.
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
