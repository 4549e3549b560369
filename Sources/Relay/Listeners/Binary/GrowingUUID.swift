/// Makes UUIDs that grow with time (RFC 9562, version 7), so that UUIDs of one moment are
/// neighbours in an index. One for each connection.
struct GrowingUUID {
  private var tail = UInt64.random(in: 0 ... .max)
  private var count: UInt16 = 0

  private static let digits = Array("0123456789abcdef".utf8)

  mutating func next(at milliseconds: Int64) -> String {
    count &+= 1
    tail &+= 1
    let high = UInt64(bitPattern: milliseconds) << 16 | 0x7000 | UInt64(count & 0x0FFF)
    let low = 0x8000_0000_0000_0000 | tail >> 2
    return String(unsafeUninitializedCapacity: 36) { text in
      var place = 0
      for half in [high, low] {
        for shift in stride(from: 60, through: 0, by: -4) {
          if place == 8 || place == 13 || place == 18 || place == 23 {
            text[place] = UInt8(ascii: "-")
            place += 1
          }
          text[place] = Self.digits[Int(half >> UInt64(shift) & 15)]
          place += 1
        }
      }
      return 36
    }
  }
}
