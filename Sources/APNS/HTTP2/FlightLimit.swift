/// How many notifications are in flight together on a connection.
///
/// A notification whose arrival ends its connection puts everything in doubt that is in flight with
/// it, and each notification may be sent five times in doubt. So the more connections ended with it
/// in flight, the fewer fly with it, down to none: the fifth time each is alone, and only the culprit
/// ends as unknown. From the second end on it flies apart: no notification without two such ends is
/// on the same connection, because it could wait there for long.
struct FlightLimit {
  /// How many in flight were so at one end, at two, at three, and at more.
  private var suspects = InlineArray<4, Int32>(repeating: 0)

  /// After so many times in doubt a notification is not sent again.
  static var mostDoubts: UInt8 { 5 }

  /// Whether one that was in flight at so many ends flies apart from others.
  @inline(__always)
  static func isApart(_ ends: UInt8) -> Bool { ends >= 2 }

  /// How many may be in flight with one that was in flight at so many ends, itself included.
  static func most(for ends: UInt8) -> Int {
    switch ends {
    case 0: .max
    case 1: 256
    case 2: 32
    case 3: 4
    default: 1
    }
  }

  /// How many may be in flight with those that are.
  private(set) var most = Int.max
  /// How many in flight fly apart from others.
  private(set) var apart = 0

  private mutating func update() {
    apart = Int(suspects[1] &+ suspects[2] &+ suspects[3])
    most = .max
    for level in stride(from: 4, through: 1, by: -1) where suspects[level &- 1] > 0 {
      most = Self.most(for: UInt8(truncatingIfNeeded: level))
      return
    }
  }

  @inline(__always)
  mutating func joined(_ ends: UInt8) {
    if ends > 0 { count(ends, 1) }
  }

  @inline(__always)
  mutating func left(_ ends: UInt8) {
    if ends > 0 { count(ends, -1) }
  }

  @inline(never)
  private mutating func count(_ ends: UInt8, _ change: Int32) {
    suspects[Int(min(ends, 4)) &- 1] &+= change
    update()
  }
}
