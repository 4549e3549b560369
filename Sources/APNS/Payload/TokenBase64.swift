/// Device tokens as base64: the standard alphabet (RFC 4648, section 4), with its
/// padding or without.
enum TokenBase64 {
  /// Positions are counted in bytes from 0.
  enum Fault: Error {
    case notBase64(position: Int, byte: UInt8)
    /// A `=` where no group of four ends.
    case padding(position: Int)
    /// Something stands behind the padding.
    case behindPadding(position: Int, byte: UInt8)
    /// The one `=` of two.
    case halfPadding
    /// The last digit says more than the last byte has room for.
    case looseBits(position: Int, byte: UInt8)
    /// A single digit is left over, which is no byte.
    case cutShort(count: Int)
    case noDigits
    case tooLong(bytes: Int)
  }

  /// Reads the token into `target` as far as it goes; how many bytes it has.
  static func decode(
    _ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var digits = 0
    var count = 0
    var paddings = 0
    var last = 0
    /// The bits that are no byte yet, in the low end.
    var bits: UInt32 = 0
    for position in 0..<text.count {
      let byte = text[position]
      if byte == 0x3D {
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
    if count > TokenText.longest { throw .tooLong(bytes: count) }
    return count
  }

  /// How many digits and paddings so many bytes take; a token's length is small.
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

  /// How many of the last digit's bits belong to the byte behind it.
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
