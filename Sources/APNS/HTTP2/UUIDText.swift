/// Converts a UUID between text, 8-4-4-4-12 hexadecimal digits (RFC 9562, 4), and bytes.
enum UUIDText {
  static let count = 36

  /// Nil if the text is not a UUID. Either case is accepted.
  static func bytes(_ text: UnsafeRawBufferPointer) -> InlineArray<16, UInt8>? {
    guard text.count == count, text[8] == 0x2D, text[13] == 0x2D, text[18] == 0x2D,
      text[23] == 0x2D
    else { return nil }
    // Eight digits at a time, because each push reads one: between hyphens, or on both sides of one.
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    let isRead = withUnsafeMutableBytes(of: &bytes) { bytes in
      for part in 0..<4 {
        let (low, high) = (starts[2 &* part], starts[2 &* part &+ 1])
        let digits =
          UInt64(UInt32(littleEndian: text.loadUnaligned(fromByteOffset: low, as: UInt32.self)))
          | UInt64(UInt32(littleEndian: text.loadUnaligned(fromByteOffset: high, as: UInt32.self)))
          << 32
        guard let four = TokenText.bytes(ofDigits: digits.littleEndian) else { return false }
        bytes.storeBytes(of: four, toByteOffset: 4 &* part, as: UInt32.self)
      }
      return true
    }
    return isRead ? bytes : nil
  }

  /// Where in the text each four digits are.
  private static let starts: InlineArray<8, Int> = [0, 4, 9, 14, 19, 24, 28, 32]

  /// Writes the text in lower case; `target` has room for `count` bytes.
  static func write(
    _ bytes: InlineArray<16, UInt8>, to target: UnsafeMutablePointer<UInt8>
  ) {
    var bytes = bytes
    var digits = InlineArray<8, UInt32>(repeating: 0)
    withUnsafeMutableBytes(of: &digits) { digits in
      withUnsafeBytes(of: &bytes) { bytes in
        if let start = digits.baseAddress { TokenText.encode(bytes, into: start) }
      }
    }
    for part in 0..<8 {
      UnsafeMutableRawPointer(target).storeBytes(
        of: digits[part], toByteOffset: starts[part], as: UInt32.self)
    }
    (target[8], target[13], target[18], target[23]) = (0x2D, 0x2D, 0x2D, 0x2D)
  }

  static func isZero(_ bytes: InlineArray<16, UInt8>) -> Bool {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      $0.loadUnaligned(as: UInt64.self)
        | $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == 0
    }
  }
}
