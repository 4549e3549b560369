/// UTF-8 as the Unicode Standard defines it: nothing overlong, no surrogates, nothing above 10FFFF.
enum UTF8Text {
  /// The character at `offset` and its length in bytes; nil if there is no whole one.
  @inline(never)
  static func decode(
    _ bytes: UnsafeRawBufferPointer, at offset: Int
  ) -> (scalar: UInt32, length: Int)? {
    let left = bytes.count &- offset
    guard left > 0 else { return nil }
    let first = UInt32(bytes[offset])
    if first < 0x80 { return (first, 1) }
    guard first >= 0xC2, first <= 0xF4 else { return nil }
    let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard left >= length else { return nil }
    var scalar = first & (0x7F >> UInt32(length))
    for index in 1..<length {
      let byte = bytes[offset &+ index]
      guard byte & 0xC0 == 0x80 else { return nil }
      scalar = scalar << 6 | UInt32(byte & 0x3F)
    }
    switch length {
    case 3: guard scalar >= 0x800, scalar & 0xFFFF_F800 != 0xD800 else { return nil }
    case 4: guard scalar >= 0x10000, scalar <= 0x10FFFF else { return nil }
    default: break
    }
    return (scalar, length)
  }

  /// The end of the run of characters beyond ASCII that starts at `offset`. If one of them is not
  /// whole, the complement of its place.
  @inline(__always)
  static func wholeEnd(_ bytes: UnsafeRawBufferPointer, from offset: Int) -> Int {
    var index = offset
    while index < bytes.count, bytes[index] >= 0x80 {
      if bytes.count &- index >= 4 {
        let word = UInt32(
          littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
        // Lead and trail bytes fit, nothing is overlong, no surrogate. Lead bytes from F4 on are
        // left to `decode`, which looks more closely.
        if word & 0xC0E0 == 0x80C0, word & 0x1E != 0 {
          index &+= 2
          continue
        }
        if word & 0xC0_C0F0 == 0x80_80E0, word & 0x200F != 0, word & 0x200F != 0x200D {
          index &+= 3
          continue
        }
        if word & 0xC0C0_C0F8 == 0x8080_80F0, word & 0x3007 != 0, word & 0x07 < 4 {
          index &+= 4
          continue
        }
      }
      guard let character = decode(bytes, at: index) else { return ~index }
      index &+= character.length
    }
    return index
  }

  /// The character shows as itself in a line of text, on a terminal and in a log. That excludes
  /// control characters (C0, DEL, C1), the ends of lines and paragraphs, characters that change the
  /// direction of writing (Unicode Standard Annex 9: marks, embeddings, overrides, isolates), and
  /// the byte order mark.
  @inline(never)
  static func isPlain(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF:
      false
    default: true
    }
  }

  /// How many bytes the character takes.
  static func length(_ scalar: UInt32) -> Int {
    scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
  }

  /// Writes the character and returns its length in bytes. `target` has room for four.
  @inline(never)
  static func encode(_ scalar: UInt32, into target: UnsafeMutableRawPointer) -> Int {
    func put(_ value: UInt32, at index: Int) {
      target.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: index, as: UInt8.self)
    }
    if scalar < 0x80 {
      put(scalar, at: 0)
      return 1
    }
    let length = length(scalar)
    let lead: UInt32 = length == 2 ? 0xC0 : length == 3 ? 0xE0 : 0xF0
    put(lead | scalar >> (6 &* UInt32(length &- 1)), at: 0)
    for index in 1..<length {
      put(0x80 | scalar >> (6 &* UInt32(length &- 1 &- index)) & 0x3F, at: index)
    }
    return length
  }
}
