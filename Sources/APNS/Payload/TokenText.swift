/// Device tokens as hexadecimal text in either case. The angle brackets and spaces that
/// NSData prints are accepted.
package enum TokenText {
  /// The longest token that the protocol can carry (Binary Provider API, frame items).
  package static let maxLength = 100

  package enum Fault: Error {
    /// The character at `position`, in bytes from 0, is not hex.
    case notHex(position: Int, byte: UInt8)
    /// The description that Swift and iOS print of the token's `Data`, which is not the token.
    case description
    case oddDigits(count: Int)
    case noDigits
    case tooLong(bytes: Int)
  }

  /// Decodes the token and returns its length in bytes. It writes what fits into `target`.
  @_optimize(speed)
  package static func decode(
    _ text: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
  ) throws(Fault) -> Int {
    var digits = 0
    var high: UInt8 = 0
    var position = 0
    while position < text.count {
      // Takes eight digits at a time, which is the usual case, and anything else one by one.
      if digits & 1 == 0 {
        let start = position
        let maximum = min((text.count &- position) / 8, (target.count &- digits / 2) / 4)
        let end = position &+ 8 &* maximum
        while position < end,
          let bytes = Self.bytes(
            ofDigits: text.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        {
          target.storeBytes(of: bytes, toByteOffset: digits / 2, as: UInt32.self)
          digits &+= 8
          position &+= 8
        }
        if position > start { continue }
      }
      let byte = text[position]
      position &+= 1
      if byte == 0x20 || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") { continue }
      guard let value = value(ofDigit: byte) else {
        if isDescription(text) { throw .description }
        throw .notHex(position: position &- 1, byte: byte)
      }
      if digits & 1 == 0 {
        high = value
      } else if digits >> 1 < target.count {
        target[digits >> 1] = high &<< 4 | value
      }
      digits &+= 1
    }
    if digits == 0 { throw .noDigits }
    if digits & 1 != 0 { throw .oddDigits(count: digits) }
    if digits >> 1 > maxLength { throw .tooLong(bytes: digits >> 1) }
    return digits >> 1
  }

  /// Whether the text is `{length = 32, bytes = 0x5f79cfda … 9ee0e412 }`, as iOS 13 and later print
  /// `NSData`, or `32 bytes`, as Swift prints `Data`.
  @inline(never)
  private static func isDescription(_ text: UnsafeRawBufferPointer) -> Bool {
    var at = 0
    while at < text.count, text[at] <= 0x20 || text[at] == UInt8(ascii: "<") { at &+= 1 }
    if at < text.count, text[at] == UInt8(ascii: "{") {
      return UnsafeRawBufferPointer(rebasing: text[(at &+ 1)...]).starts(with: "length")
    }
    let start = at
    while at < text.count, text[at] &- 0x30 < 10 { at &+= 1 }
    return at > start && at &- start < 4
      && UnsafeRawBufferPointer(rebasing: text[at...]).starts(with: " bytes")
  }

  /// The four bytes of eight digits, as they lie in memory; nil if one is not a digit.
  @inline(__always)
  static func bytes(ofDigits text: UInt64) -> UInt32? {
    let word = UInt64(littleEndian: text)
    // Among hex digits only letters have this bit.
    let letters = word >> 6 & 0x0101_0101_0101_0101
    let values = (word & 0x0F0F_0F0F_0F0F_0F0F) &+ letters &* 9
    // Written as text again they have to match the input, in either case.
    let nines = (values &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    let again = values &+ 0x3030_3030_3030_3030 &+ nines &* 39
    guard values & 0xF0F0_F0F0_F0F0_F0F0 == 0, again == word | letters << 5 else { return nil }
    var bytes = (values << 4 | values >> 8) & 0x00FF_00FF_00FF_00FF
    bytes = (bytes | bytes >> 8) & 0x0000_FFFF_0000_FFFF
    return UInt32(truncatingIfNeeded: bytes | bytes >> 16).littleEndian
  }

  /// Writes two lowercase digits for each byte; `target` has room for them.
  @_optimize(speed)
  package static func encode(_ token: UnsafeRawBufferPointer, into target: UnsafeMutableRawPointer)
  {
    var index = 0
    // Four bytes at a time, a digit in each byte of the word.
    while token.count &- index >= 4 {
      var word = UInt64(
        UInt32(littleEndian: token.loadUnaligned(fromByteOffset: index, as: UInt32.self)))
      word = (word | word << 16) & 0x0000_FFFF_0000_FFFF
      word = (word | word << 8) & 0x00FF_00FF_00FF_00FF
      word = (word >> 4 | word << 8) & 0x0F0F_0F0F_0F0F_0F0F
      let letters = (word &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
      word = word &+ 0x3030_3030_3030_3030 &+ letters &* 39
      target.storeBytes(of: word.littleEndian, toByteOffset: index &* 2, as: UInt64.self)
      index &+= 4
    }
    while index < token.count {
      let byte = token[index]
      target.storeBytes(of: hexDigit(byte >> 4), toByteOffset: index &* 2, as: UInt8.self)
      target.storeBytes(of: hexDigit(byte & 15), toByteOffset: index &* 2 &+ 1, as: UInt8.self)
      index &+= 1
    }
  }

  static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte &- 0x30
    case 0x41...0x46: byte &- 0x37
    case 0x61...0x66: byte &- 0x57
    default: nil
    }
  }
}
