/// Text as it stands between the quotation marks of a JSON string. Only what has to be
/// escaped is: the quotation mark, the backslash, and the control characters.
enum JSONText {
  /// How many bytes the text takes, escapes counted.
  @inline(never)
  static func measure(_ text: UnsafeRawBufferPointer) throws(PayloadFault) -> Int {
    var offset = 0
    var escapes = 0
    while offset < text.count {
      if text.count &- offset >= 8, isPlain(text, at: offset) {
        offset &+= 8
        continue
      }
      let byte = text[offset]
      if byte < 0x80 {
        escapes &+= extra(byte)
        offset &+= 1
      } else {
        guard let character = UTF8Text.decode(text, at: offset) else {
          throw PayloadFault(.text, at: offset)
        }
        offset &+= character.length
      }
    }
    return text.count &+ escapes
  }

  /// Writes the text, which was measured, and returns where it ended.
  static func write(
    _ text: UnsafeRawBufferPointer, measured: Int, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard let base = text.baseAddress, text.count > 0 else { return target }
    if measured == text.count {
      target.copyMemory(from: base, byteCount: text.count)
      return target + text.count
    }
    var target = target
    for byte in text { target = write(byte: byte, to: target) }
    return target
  }

  /// Writes one byte of UTF-8, escaped where it has to be; at most six bytes.
  @inline(never)
  static func write(
    byte: UInt8, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let length = 1 &+ extra(byte)
    if length == 1 {
      target.storeBytes(of: byte, as: UInt8.self)
    } else {
      target.storeBytes(of: 0x5C, as: UInt8.self)
      target.storeBytes(of: letter(byte), toByteOffset: 1, as: UInt8.self)
      if length == 6 {
        target.storeBytes(of: 0x30, toByteOffset: 2, as: UInt8.self)
        target.storeBytes(of: 0x30, toByteOffset: 3, as: UInt8.self)
        target.storeBytes(of: hexDigit(byte >> 4), toByteOffset: 4, as: UInt8.self)
        target.storeBytes(of: hexDigit(byte & 15), toByteOffset: 5, as: UInt8.self)
      }
    }
    return target + length
  }

  /// The character at `offset` of text that `write` wrote, how many bytes it takes there,
  /// and how many it took in the text given.
  static func decode(
    _ text: UnsafeRawBufferPointer, at offset: Int
  ) -> (scalar: UInt32, length: Int, rawLength: Int)? {
    guard let character = UTF8Text.decode(text, at: offset) else { return nil }
    guard character.scalar == 0x5C else {
      return (character.scalar, character.length, character.length)
    }
    guard text.count &- offset >= 2 else { return nil }
    let letter = text[offset &+ 1]
    guard letter == 0x75 else { return (value(ofLetter: letter), 2, 1) }
    guard text.count &- offset >= 6 else { return nil }
    let low = text[offset &+ 5]
    let digit = low < 0x3A ? low &- 0x30 : low &- 0x57
    return (UInt32(text[offset &+ 4] & 1) << 4 | UInt32(digit), 6, 1)
  }

  /// How many bytes an escape adds to an ASCII character.
  @inline(__always)
  private static func extra(_ byte: UInt8) -> Int {
    if byte >= 0x20 { return byte == 0x22 || byte == 0x5C ? 1 : 0 }
    return letter(byte) == 0x75 ? 5 : 1
  }

  /// What stands behind the backslash.
  private static func letter(_ byte: UInt8) -> UInt8 {
    switch byte {
    case 0x08: 0x62
    case 0x09: 0x74
    case 0x0A: 0x6E
    case 0x0C: 0x66
    case 0x0D: 0x72
    case 0x22, 0x5C: byte
    default: 0x75
    }
  }

  static func value(ofLetter letter: UInt8) -> UInt32 {
    switch letter {
    case 0x62: 0x08
    case 0x74: 0x09
    case 0x6E: 0x0A
    case 0x66: 0x0C
    case 0x72: 0x0D
    default: UInt32(letter)
    }
  }

  /// Whether the next eight bytes are ASCII of which none is escaped.
  @inline(__always)
  private static func isPlain(_ text: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    let word = text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ ones &* 0x22
    let backslashes = word ^ ones &* 0x5C
    // Each sets a byte's highest bit where the byte is zero, or below the space.
    let marks =
      word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
      | (word &- ones &* 0x20) & ~word
    return marks & (ones &* 0x80) == 0
  }
}
