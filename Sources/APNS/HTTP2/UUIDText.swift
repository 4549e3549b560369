/// Converts a UUID between text, 8-4-4-4-12 hexadecimal digits (RFC 9562, 4), and bytes.
package enum UUIDText {
  static let count = 36

  /// 32 characters where a UUID has its digits, eight in each word.
  typealias Digits = (UInt64, UInt64, UInt64, UInt64)

  /// Nil if the text has no hyphens there.
  @inline(__always)
  static func digits(_ text: UnsafeRawBufferPointer) -> Digits? {
    guard text.count == count, text[8] == 0x2D, text[13] == 0x2D, text[18] == 0x2D,
      text[23] == UInt8(ascii: "-")
    else { return nil }
    return (pair(text, 0, 4), pair(text, 9, 14), pair(text, 19, 24), pair(text, 28, 32))
  }

  /// Nil if the text is not a UUID. Either case is accepted.
  package static func bytes(_ text: UnsafeRawBufferPointer) -> InlineArray<16, UInt8>? {
    guard let digits = digits(text) else { return nil }
    return bytes(digits)
  }

  /// Nil if they are not all hexadecimal. They are read at once, as `TokenText.bytes(ofDigits:)` reads
  /// eight.
  @inline(never)
  static func bytes(_ digits: Digits) -> InlineArray<16, UInt8>? {
    let digits = SIMD4<UInt64>(digits.0, digits.1, digits.2, digits.3)
    let letters = digits &>> 6 & 0x0101_0101_0101_0101
    let values = (digits & 0x0F0F_0F0F_0F0F_0F0F) &+ letters &+ letters &<< 3
    let nines = (values &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
    let again = values &+ 0x3030_3030_3030_3030 &+ (nines &<< 5 &+ nines &<< 3 &- nines)
    let wrong = (again ^ (digits | letters &<< 5)) | values & 0xF0F0_F0F0_F0F0_F0F0
    guard wrong[0] | wrong[1] | wrong[2] | wrong[3] == 0 else { return nil }
    var read = (values &<< 4 | values &>> 8) & 0x00FF_00FF_00FF_00FF
    read = (read | read &>> 8) & 0x0000_FFFF_0000_FFFF
    read |= read &>> 16
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    withUnsafeMutableBytes(of: &bytes) { bytes in
      for part in 0..<4 {
        let four = UInt32(truncatingIfNeeded: read[part])
        bytes.storeBytes(of: four.littleEndian, toByteOffset: 4 &* part, as: UInt32.self)
      }
    }
    return bytes
  }

  /// Eight digits, four of them at each place.
  @inline(__always)
  private static func pair(_ text: UnsafeRawBufferPointer, _ low: Int, _ high: Int) -> UInt64 {
    let four = UInt32(littleEndian: text.loadUnaligned(fromByteOffset: low, as: UInt32.self))
    let more = UInt32(littleEndian: text.loadUnaligned(fromByteOffset: high, as: UInt32.self))
    return UInt64(four) | UInt64(more) << 32
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

  /// Writes the text, unless the bytes are all zero.
  @inline(never)
  static func write(_ id: (UInt64, UInt64), to target: UnsafeMutableRawBufferPointer) {
    guard id.0 | id.1 != 0, let text = target.baseAddress, target.count > count else { return }
    write(
      unsafeBitCast(id, to: InlineArray<16, UInt8>.self),
      to: text.bindMemory(to: UInt8.self, capacity: count))
  }

  static func isZero(_ bytes: InlineArray<16, UInt8>) -> Bool {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      $0.loadUnaligned(as: UInt64.self)
        | $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == 0
    }
  }
}
