/// Text as it appears between the quotation marks of a JSON string. It escapes only what
/// JSON requires: the quotation mark, the backslash and the control characters.
package enum JSONText {
  /// How many bytes the text takes, including escapes.
  @inline(__always)
  static func measure(_ text: UnsafeRawBufferPointer) throws(PayloadFault) -> Int {
    isPlain(text) ? text.count : try measureWithEscapes(text)
  }

  @inline(never)
  private static func measureWithEscapes(
    _ text: UnsafeRawBufferPointer
  ) throws(PayloadFault) -> Int {
    var offset = 0
    var escapes = 0
    while offset < text.count {
      offset &+= plainRun(text, from: offset)
      guard offset < text.count else { break }
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

  /// Writes the text, which has been measured, and returns where it ended.
  @inline(__always)
  static func write(
    _ text: UnsafeRawBufferPointer, measured: Int, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard let base = text.baseAddress, text.count > 0 else { return target }
    if measured == text.count {
      copyShort(base, to: target, text.count)
      return target + text.count
    }
    return writeEscaping(text, to: target)
  }

  @inline(never)
  private static func writeEscaping(
    _ text: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var target = target
    for byte in text { target = write(byte: byte, to: target) }
    return target
  }

  /// Writes one byte of UTF-8, escaped where necessary, in at most six bytes.
  @inline(never)
  static func write(
    byte: UInt8, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let length = 1 &+ extra(byte)
    if length == 1 {
      target.storeBytes(of: byte, as: UInt8.self)
    } else {
      target.storeBytes(of: UInt8(ascii: "\\"), as: UInt8.self)
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

  /// The character at `offset` of text that `write` wrote, its length there, and its length
  /// in the original text.
  static func decode(
    _ text: UnsafeRawBufferPointer, at offset: Int
  ) -> (scalar: UInt32, length: Int, rawLength: Int)? {
    guard let character = UTF8Text.decode(text, at: offset) else { return nil }
    guard character.scalar == UInt8(ascii: "\\") else {
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
    if byte >= 0x20 { return byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 1 : 0 }
    return letter(byte) == 0x75 ? 5 : 1
  }

  /// The letter after the backslash.
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

  /// Whether the whole text is ASCII that needs no escape.
  @inline(__always)
  private static func isPlain(_ text: UnsafeRawBufferPointer) -> Bool {
    let count = text.count
    if count >= 8 {
      for offset in stride(from: 0, to: count &- 8, by: 8)
      where !isPlain(load(text, at: offset)) { return false }
      // Checks some bytes twice if the length is not a multiple of eight.
      return isPlain(load(text, at: count &- 8))
    }
    var word: UInt64 = 0x2020_2020_2020_2020
    for byte in text { word = word << 8 | UInt64(byte) }
    return isPlain(word)
  }

  /// How many bytes from `offset` on are ASCII that needs no escape, in steps of eight.
  @inline(__always)
  static func plainRun(_ text: UnsafeRawBufferPointer, from offset: Int) -> Int {
    var end = offset
    while text.count &- end >= 8, isPlain(load(text, at: end)) { end &+= 8 }
    return end &- offset
  }

  /// Where valid JSON text has a doubly escaped character, such as `\\n` or `\\u00e9`; nil if
  /// nowhere. A file's path, `C:\\new`, does not count.
  @inline(never)
  static func escapedTwice(in text: UnsafeRawBufferPointer) -> Int? {
    var index = 0
    while index &+ 2 < text.count {
      guard text[index] == UInt8(ascii: "\\") else {
        index &+= 1
        continue
      }
      guard text[index &+ 1] == UInt8(ascii: "\\") else {
        index &+= 2
        continue
      }
      switch text[index &+ 2] {
      case 0x6E, 0x72, 0x74: if index == 0 || text[index &- 1] != UInt8(ascii: ":") { return index }
      case 0x75:
        if index &+ 6 < text.count,
          (3...6).allSatisfy({ TokenText.value(ofDigit: text[index &+ $0]) != nil })
        {
          return index
        }
      case 0x5C: if index &+ 3 < text.count, text[index &+ 3] == UInt8(ascii: "\"") { return index }
      default: break
      }
      index &+= 2
    }
    return nil
  }

  /// The first byte from `offset` on that is not such ASCII, or the end of the text.
  @inline(__always)
  package static func plainEnd(_ text: UnsafeRawBufferPointer, from offset: Int) -> Int {
    var end = offset
    while text.count &- end >= 8 {
      let marks = marks(UInt64(littleEndian: load(text, at: end)))
      // The lowest mark is right. Those above it may come from its carry.
      if marks != 0 { return end &+ marks.trailingZeroBitCount >> 3 }
      end &+= 8
    }
    while end < text.count, isPlain(text[end]) { end &+= 1 }
    return end
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  @inline(__always)
  private static func load(_ text: UnsafeRawBufferPointer, at offset: Int) -> UInt64 {
    // The callers have checked for eight bytes.
    text.baseAddress.unsafelyUnwrapped.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// Whether eight bytes are all ASCII that needs no escape.
  @inline(__always)
  private static func isPlain(_ word: UInt64) -> Bool { marks(word) == 0 }

  /// The highest bit of each byte that is not such ASCII, and perhaps of bytes above it.
  @inline(__always)
  private static func marks(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ ones &* 0x22
    let backslashes = word ^ ones &* 0x5C
    // Each term sets the highest bit of a byte that is zero or, in the last one, below the space.
    let marks =
      word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
      | (word &- ones &* 0x20) & ~word
    return marks & (ones &* 0x80)
  }
}
