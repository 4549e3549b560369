/// Converts a UUID between text, 8-4-4-4-12 hexadecimal digits (RFC 9562, 4), and bytes.
enum UUIDText {
  static let count = 36

  /// Nil if the text is not a UUID. Either case is accepted.
  static func bytes(_ text: UnsafeRawBufferPointer) -> InlineArray<16, UInt8>? {
    guard text.count == count else { return nil }
    var bytes = InlineArray<16, UInt8>(repeating: 0)
    var place = 0
    for index in 0..<16 {
      if index == 4 || index == 6 || index == 8 || index == 10 {
        guard text[place] == 0x2D else { return nil }
        place &+= 1
      }
      guard let high = TokenText.value(ofDigit: text[place]),
        let low = TokenText.value(ofDigit: text[place &+ 1])
      else { return nil }
      bytes[index] = high << 4 | low
      place &+= 2
    }
    return bytes
  }

  /// Writes the text in lower case; `target` has room for `count` bytes.
  static func write(
    _ bytes: InlineArray<16, UInt8>, to target: UnsafeMutablePointer<UInt8>
  ) {
    // Byte by byte: each push writes one or two.
    var place = target
    for index in 0..<16 {
      if index == 4 || index == 6 || index == 8 || index == 10 {
        place.pointee = 0x2D
        place += 1
      }
      let byte = bytes[index]
      place[0] = hexDigit(byte >> 4)
      place[1] = hexDigit(byte & 15)
      place += 2
    }
  }

  static func isZero(_ bytes: InlineArray<16, UInt8>) -> Bool {
    var copy = bytes
    return withUnsafeBytes(of: &copy) {
      $0.loadUnaligned(as: UInt64.self)
        | $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == 0
    }
  }
}
