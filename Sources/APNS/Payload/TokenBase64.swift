/// Device tokens as base64: the standard alphabet (RFC 4648, section 4), with or without padding.
enum TokenBase64 {
  /// Positions are counted in bytes from 0.
  enum Fault: Error {
    case notBase64(position: Int, byte: UInt8)
    /// A `=` does not end a group of four.
    case padding(position: Int)
    /// A digit follows the padding.
    case behindPadding(position: Int, byte: UInt8)
    /// Only one `=` where two are needed.
    case halfPadding
    /// The last digit has more bits set than the last byte has room for.
    case looseBits(position: Int, byte: UInt8)
    /// A single digit is left over, which is less than a byte.
    case cutShort(count: Int)
    case noDigits
    case tooLong(bytes: Int)
  }

  /// Decodes the token and returns its length in bytes. It writes what fits into `target`.
  @_optimize(speed)
  static func decode(
    _ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var digits = 0
    var count = 0
    var paddings = 0
    var last = 0
    /// The bits that do not fill a byte yet, in the low end.
    var bits: UInt32 = 0
    var position = 0
    while position < text.count {
      // Takes eight digits at a time, which is the usual case, and anything else one by one.
      if digits & 3 == 0, paddings == 0, text.count &- position >= 8, target.count &- count >= 6,
        let bytes = Self.bytes(
          ofDigits: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      {
        target.storeBytes(
          of: UInt32(truncatingIfNeeded: bytes >> 16).bigEndian, toByteOffset: count,
          as: UInt32.self)
        target.storeBytes(
          of: UInt16(truncatingIfNeeded: bytes).bigEndian, toByteOffset: count &+ 4,
          as: UInt16.self)
        digits &+= 8
        count &+= 6
        position &+= 8
        continue
      }
      // The last four characters, which mostly have padding.
      if digits & 3 == 0, paddings == 0, text.count &- position == 4, target.count &- count >= 3,
        let bytes = Self.bytes(
          ofLast: text.loadUnaligned(fromByteOffset: position, as: UInt32.self))
      {
        target.storeBytes(
          of: UInt16(truncatingIfNeeded: bytes.value >> 8).bigEndian, toByteOffset: count,
          as: UInt16.self)
        if bytes.count == 3 { target[count &+ 2] = UInt8(truncatingIfNeeded: bytes.value) }
        digits &+= bytes.count &+ 1
        count &+= bytes.count
        bits = 0
        break
      }
      let byte = text[position]
      defer { position &+= 1 }
      if byte == UInt8(ascii: "=") {
        guard digits & 3 >= 2, digits & 3 &+ paddings < 4 else {
          throw .padding(position: position)
        }
        paddings &+= 1
        continue
      }
      guard let value = value(ofDigit: byte) else {
        throw .notBase64(position: position, byte: byte)
      }
      if paddings > 0 { throw .behindPadding(position: position, byte: byte) }
      bits = bits &<< 6 | UInt32(value)
      last = position
      digits &+= 1
      if digits & 3 == 1 { continue }
      if count < target.count {
        target[count] = UInt8(truncatingIfNeeded: bits >> looseBits(after: digits))
      }
      count &+= 1
    }
    if digits == 0 { throw .noDigits }
    if digits & 3 == 1 { throw .cutShort(count: digits) }
    if paddings == 1, digits & 3 == 2 { throw .halfPadding }
    if bits & (1 &<< looseBits(after: digits) &- 1) != 0 {
      throw .looseBits(position: last, byte: text[last])
    }
    if count > TokenText.maxLength { throw .tooLong(bytes: count) }
    return count
  }

  /// The six bytes of eight digits, in the low 48 bits; nil if one is not a digit.
  @inline(__always)
  private static func bytes(ofDigits text: UInt64) -> UInt64? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let word = UInt64(littleEndian: text)
    guard word & (ones &* 0x80) == 0 else { return nil }
    let digits = atLeast(0x30, word) ^ atLeast(0x3A, word)
    let capitals = atLeast(0x41, word) ^ atLeast(0x5B, word)
    let letters = atLeast(0x61, word) ^ atLeast(0x7B, word)
    let pluses = atLeast(0x2B, word) ^ atLeast(0x2C, word)
    let slashes = atLeast(0x2F, word) ^ atLeast(0x30, word)
    guard digits | capitals | letters | pluses | slashes == ones else { return nil }
    var values = word &- capitals &* 0x41 &- letters &* 0x47
    values = (values &+ digits &* 4 &+ pluses &* 19 &+ slashes &* 16).byteSwapped
    // Joins six bits of each byte, then twelve of each pair, then twenty-four of each four.
    values = values & 0x003F_003F_003F_003F | values >> 2 & 0x0FC0_0FC0_0FC0_0FC0
    values = values & 0x0000_0FFF_0000_0FFF | values >> 4 & 0x00FF_F000_00FF_F000
    return values & 0x00FF_FFFF | values >> 8 & 0xFFFF_FF00_0000
  }

  /// The three bytes of four digits, or the two bytes of three digits and a padding, in the
  /// low 24 bits; nil for anything else.
  @inline(__always)
  private static func bytes(ofLast text: UInt32) -> (value: UInt64, count: Int)? {
    var word = UInt32(littleEndian: text)
    let isPadded = word >> 24 == UInt8(ascii: "=")
    // Replaces the padding with `A`, a digit of value 0.
    if isPadded { word = word & 0x00FF_FFFF | 0x4100_0000 }
    let digits = UInt64(word) | 0x4141_4141_0000_0000
    guard let bytes = Self.bytes(ofDigits: digits.littleEndian) else { return nil }
    let value = bytes >> 24
    if isPadded { return value & 0xFF == 0 ? (value, 2) : nil }
    return (value, 3)
  }

  /// A one for each ASCII byte that is at least the character. No byte carries into the next.
  @inline(__always)
  private static func atLeast(_ character: UInt64, _ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    return (word &+ ones &* (0x80 &- character)) >> 7 & ones
  }

  /// The length of `bytes` bytes in characters, with padding. A token is short, so this cannot
  /// overflow.
  static func length(of bytes: Int) -> Int { (bytes &+ 2) / 3 &* 4 }

  /// Writes the digits and the padding; `target` has room for them.
  static func encode(_ token: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer) {
    var written = 0
    var start = 0
    while start < token.count {
      let group = min(token.count &- start, 3)
      var bits: UInt32 = 0
      for index in 0..<3 {
        bits = bits &<< 8 | (index < group ? UInt32(token[start &+ index]) : 0)
      }
      for index in 0..<4 {
        let value = UInt8(truncatingIfNeeded: bits >> (18 &- 6 &* UInt32(index)) & 63)
        target.storeBytes(
          of: index <= group ? digit(value) : 0x3D, toByteOffset: written, as: UInt8.self)
        written &+= 1
      }
      start &+= group
    }
  }

  /// How many bits of the last digit belong to the next byte.
  private static func looseBits(after digits: Int) -> UInt32 {
    switch digits & 3 {
    case 2: 4
    case 3: 2
    default: 0
    }
  }

  private static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case 0x41...0x5A: byte &- 0x41
    case 0x61...0x7A: byte &- 0x47
    case 0x30...0x39: byte &+ 4
    case 0x2B: 62
    case 0x2F: 63
    default: nil
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: value &+ 0x41
    case 26..<52: value &+ 0x47
    case 52..<62: value &- 4
    case 62: 0x2B
    default: 0x2F
    }
  }
}
