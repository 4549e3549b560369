import CSystem

/// Certificates and keys as text that went through forms, environments and editors: with `\n` for
/// line breaks or none at all, indented, in quotes or JSON, in UTF-16, without header or footer, as
/// base64 of a file. The essential parts are there, so it is written again as PEM or DER.
enum MendedText {
  /// Nil if there is nothing to mend, or the contents are not recognizable.
  @inline(never)
  static func make(of given: UnsafeRawBufferPointer) throws(Failure) -> WipedBytes? {
    if isDER(given) || isPEM(given) { return nil }
    let plain = try WipedBytes(room: given.count) { writePlain(given, to: &$0) }
    if hasMark(plain.bytes) { return try blocks(of: plain.bytes) }
    let digits = maxRun(plain.bytes)
    guard digits.count >= 64 else { return nil }
    let bytes = try WipedBytes(room: digits.count) { decode(digits, to: &$0) }
    if isDER(bytes.bytes) || isPEM(bytes.bytes) { return bytes }
    return hasMark(bytes.bytes) ? try blocks(of: bytes.bytes) : nil
  }

  // MARK: Valid text

  /// A sequence with its length encoded as for this number of bytes.
  private static func isDER(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count > 2, bytes[0] == 0x30 else { return false }
    return bytes[1] >= 0x80 || Int(bytes[1]) == bytes.count &- 2
  }

  /// Blocks as OpenSSL reads them: marks that are lines, and nothing odd between them.
  private static func isPEM(_ text: UnsafeRawBufferPointer) -> Bool {
    var isOpen = false
    var hasHeader = false
    var hasBlock = false
    var start = 0
    while start < text.count {
      var stop = start
      while stop < text.count, text[stop] != 0x0A { stop &+= 1 }
      var end = stop
      while end > start, text[end &- 1] <= 0x20 { end &-= 1 }
      let line = UnsafeRawBufferPointer(rebasing: text[start..<end])
      start = stop &+ 1
      if line.starts(with: "-----BEGIN ") {
        guard !isOpen, hasOneMark(line) else { return false }
        (isOpen, hasHeader, hasBlock) = (true, false, true)
      } else if line.starts(with: "-----END ") {
        guard isOpen, hasOneMark(line) else { return false }
        isOpen = false
      } else if hasMark(line) {
        return false
      } else if isOpen, !hasHeader {
        hasHeader = line.contains(":")
        guard hasHeader || hasDigitsOnly(line) else { return false }
      }
    }
    return hasBlock && !isOpen
  }

  /// Five hyphens, words, five hyphens.
  private static func hasOneMark(_ line: UnsafeRawBufferPointer) -> Bool {
    var hyphens = 0
    for byte in line where byte == UInt8(ascii: "-") { hyphens &+= 1 }
    return hyphens == 10 && line[line.count &- 5] == 0x2D && line[line.count &- 1] == 0x2D
  }

  private static func hasDigitsOnly(_ line: UnsafeRawBufferPointer) -> Bool {
    for byte in line where value(ofDigit: byte) == nil && byte != UInt8(ascii: "=") { return false }
    return line.count > 0
  }

  private static func hasMark(_ text: UnsafeRawBufferPointer) -> Bool { text.contains("-BEGIN ") }

  // MARK: Plain text

  /// One byte for each character, and characters instead of their escapes.
  private static func writePlain(_ given: UnsafeRawBufferPointer, to plain: inout WipedWriter) {
    // UTF-16 has a NUL in each character of such a text.
    let step = given.count > 3 && given[0] | given[1] > 0 && isWide(given) ? 2 : 1
    let isLittle = step == 1 || given[0] == 0xFF || given[1] == 0
    func character(_ index: Int) -> UInt8 {
      let place = index &* step &+ (isLittle ? 0 : 1)
      return place < given.count ? given[place] : 0
    }
    let count = given.count / step
    var index = 0
    while index < count {
      guard character(index) == UInt8(ascii: "\\") else {
        plain.put(character(index))
        index &+= 1
        continue
      }
      while index < count, character(index) == UInt8(ascii: "\\") { index &+= 1 }
      switch character(index) {
      case 0x6E, 0x72, 0x74: plain.put(0x0A)
      case 0x75:
        var value = 0
        for _ in 0..<4 {
          index &+= 1
          let digit = character(index)
          value = value << 4 | Int(digit & 0x0F) &+ (digit >= 0x40 ? 9 : 0)
        }
        plain.put(UInt8(truncatingIfNeeded: value))
      case let other: plain.put(other)
      }
      index &+= 1
    }
  }

  private static func isWide(_ text: UnsafeRawBufferPointer) -> Bool {
    (text[2] == 0) != (text[3] == 0)
  }

  // MARK: Blocks

  /// The blocks with correct marks and lines; nil without any block, or if one has headers, which
  /// describe its encryption.
  private static func blocks(of text: UnsafeRawBufferPointer) throws(Failure) -> WipedBytes? {
    var isFine = false
    let made = try WipedBytes(room: 2 &* text.count &+ 256) { room in
      var index = 0
      isFine = true
      while let label = nextLabel(text, &index) {
        while index < text.count, text[index] == UInt8(ascii: "-") { index &+= 1 }
        room.put("-----BEGIN ")
        room.put(label)
        room.put("-----")
        var digits = 0
        while index < text.count, text[index] != UInt8(ascii: "-") {
          if isDamage(text[index]) { isFine = false }
          if value(ofDigit: text[index]) != nil {
            if digits % 64 == 0 { room.put(0x0A) }
            room.put(text[index])
            digits &+= 1
          }
          index &+= 1
        }
        // Pads truncated text, so that it is still read as far as it goes.
        if digits % 4 == 1 {
          room.put(0x41)
          digits &+= 1
        }
        while digits % 4 != 0 {
          room.put(UInt8(ascii: "="))
          digits &+= 1
        }
        room.put("\n-----END ")
        room.put(label)
        room.put("-----\n")
      }
      if room.isFull || room.count == 0 { isFine = false }
    }
    if isFine { return made }
    return nil
  }

  /// No digit, and nothing that is usual around quoted, indented or joined lines.
  private static func isDamage(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x22, 0x23, 0x27, 0x2A, 0x2C, 0x2E, 0x3B, 0x3D, 0x3E, 0x5C, 0x60, 0x7C: false
    default: byte < 0x7F && value(ofDigit: byte) == nil
    }
  }

  /// The text after the next BEGIN; `index` moves to its end.
  private static func nextLabel(
    _ text: UnsafeRawBufferPointer, _ index: inout Int
  ) -> UnsafeRawBufferPointer? {
    let mark: StaticString = "-BEGIN "
    let length = mark.utf8CodeUnitCount
    while index &+ length < text.count {
      guard UnsafeRawBufferPointer(rebasing: text[index...]).starts(with: mark) else {
        index &+= 1
        continue
      }
      let start = index &+ length
      var end = start
      while end < text.count, isOfLabel(text[end]) { end &+= 1 }
      index = end
      if end < text.count, text[end] == UInt8(ascii: "-"), end > start, end &- start <= 40 {
        return UnsafeRawBufferPointer(rebasing: text[start..<end])
      }
    }
    return nil
  }

  private static func isOfLabel(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20
  }

  // MARK: Base64 alone

  /// The longest part of a text that is base64, with blanks in it.
  private static func maxRun(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var longest = 0..<0
    var start = 0
    for index in 0...text.count {
      if index < text.count, text[index] <= 0x20 || value(ofDigit: text[index]) != nil { continue }
      if index &- start > longest.count { longest = start..<index }
      start = index &+ 1
    }
    return UnsafeRawBufferPointer(rebasing: text[longest])
  }

  private static func decode(_ digits: UnsafeRawBufferPointer, to bytes: inout WipedWriter) {
    var bits: UInt32 = 0
    var count = 0
    for byte in digits {
      guard let value = value(ofDigit: byte) else { continue }
      bits = bits << 6 | value
      count &+= 6
      if count >= 8 {
        count &-= 8
        bytes.put(UInt8(truncatingIfNeeded: bits >> UInt32(truncatingIfNeeded: count)))
      }
    }
  }

  private static func value(ofDigit byte: UInt8) -> UInt32? {
    switch byte {
    case 0x41...0x5A: UInt32(byte) &- 0x41
    case 0x61...0x7A: UInt32(byte) &- 0x47
    case 0x30...0x39: UInt32(byte) &+ 4
    case 0x2B: 62
    case 0x2F: 63
    default: nil
    }
  }
}
