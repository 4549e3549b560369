import JSON

/// An `apns-id`: a UUID in the format of RFC 4122.
enum PushIdentifier {
  /// In upper or lower case: some platforms write capitals only.
  static func isOne(_ text: String) -> Bool {
    var position = 0
    for byte in text.utf8 {
      switch position {
      case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return false }
      default: if !UnicodeScalar(byte).properties.isASCIIHexDigit { return false }
      }
      position += 1
    }
    return position == 36
  }

  /// A random one, in lower case.
  static func make(_ generator: inout SplitMix64) -> String {
    var (high, low) = (generator.next(), generator.next())
    high = high & ~0xF000 | 0x4000
    low = low & ~(3 << 62) | 2 << 62
    return String(unsafeUninitializedCapacity: 36) { text in
      var at = 0
      for half in [high, low] {
        for shift in stride(from: 60, through: 0, by: -4) {
          if at == 8 || at == 13 || at == 18 || at == 23 {
            text[at] = UInt8(ascii: "-")
            at += 1
          }
          text[at] = JSONLiteral.hexDigits[Int(half >> UInt64(shift) & 15)]
          at += 1
        }
      }
      return at
    }
  }
}
