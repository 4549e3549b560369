/// How many notifications are in flight together on a connection.
///
/// If a notification's arrival ends its connection, everything in flight with it is in doubt, and
/// each notification may be sent five times in doubt. So the limit shrinks with each end that the
/// notification was in flight at. On the fifth attempt each one is alone, and only the harmful one
/// becomes unknown. From the second end on it is sent apart: notifications without two such ends
/// never share its connection, because they could wait there for long.
struct FlightLimit {
  /// How many in flight were so at one end, at two, at three, and at more.
  private var suspects = InlineArray<4, Int32>(repeating: 0)

  /// A notification that was in doubt this often is not resent.
  static var maxInDoubt: UInt8 { 5 }

  /// Whether a notification that was in flight at `ends` ends is sent apart from others.
  @inline(__always)
  static func isApart(_ ends: UInt8) -> Bool { ends >= 2 }

  /// How many may be in flight with such a notification, itself included.
  static func maximum(for ends: UInt8) -> Int {
    switch ends {
    case 0: .max
    case 1: 256
    case 2: 32
    case 3: 4
    default: 1
    }
  }

  /// How many may be in flight with those that are.
  private(set) var maximum = Int.max
  /// How many in flight are sent apart from others.
  private(set) var apart = 0

  private mutating func update() {
    apart = Int(suspects[1] &+ suspects[2] &+ suspects[3])
    maximum = .max
    for level in stride(from: 4, through: 1, by: -1) where suspects[level &- 1] > 0 {
      maximum = Self.maximum(for: UInt8(truncatingIfNeeded: level))
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
