/// Converts a UUID between text, 8-4-4-4-12 hexadecimal digits (RFC 9562, 4), and bytes.
enum UUIDText {
  static let count = 36

  /// Nil if the text is not a UUID. Either case is accepted.
  static func bytes(_ text: UnsafeRawBufferPointer) -> InlineArray<16, UInt8>? {
    guard text.count == count else { return nil }
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var digits = 0
    for index in 0..<count {
      if isDash(index) {
        guard text[index] == 0x2D else { return nil }
        continue
      }
      guard let value = TokenText.value(ofDigit: text[index]) else { return nil }
      bytes[digits / 2] = bytes[digits / 2] << 4 | value
      digits &+= 1
    }
    return bytes
  }

  /// Writes the text in lower case; `target` has room for `count` bytes.
  static func write(
    _ bytes: InlineArray<16, UInt8>, to target: UnsafeMutablePointer<UInt8>
  ) {
    var digits = 0
    for index in 0..<count {
      if isDash(index) {
        target[index] = 0x2D
        continue
      }
      let byte = bytes[digits / 2]
      target[index] = hexDigit(digits % 2 == 0 ? byte >> 4 : byte & 15)
      digits &+= 1
    }
  }

  static func isZero(_ bytes: InlineArray<16, UInt8>) -> Bool {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      $0.loadUnaligned(as: UInt64.self)
        | $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == 0
    }
  }

  private static func isDash(_ index: Int) -> Bool {
    index == 8 || index == 13 || index == 18 || index == 23
  }
}
