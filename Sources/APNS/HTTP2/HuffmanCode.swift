/// HPACK's code for texts (RFC 7541, 5.2 and appendix B), as far as it goes in twelve bits;
/// a text with other characters is sent as it is.
struct HuffmanCode {
  /// The length of each character's code, from the space on: 5, or A for 10; -: longer.
  /// The codes are given out by length, and those of one length in the characters' order.
  private static var lengths: StaticString {
    """
    6AAC-68BAA8B8666555666666678-6CA-67777777777777777777777878--\
    --6-56565666577666567655677777-B--
    """
  }
  private static var lowest: UInt8 { 0x20 }

  /// Each with its length in the lowest four bits, 0 where there is none: those of
  /// characters, and behind them those of bytes as two hex digits.
  private let codes: UnsafeMutablePointer<UInt16>
  private static var pairs: Int { 128 }
  /// What each path begins with: 57 bits.
  private var beginning: BitWriter
  private static var path: StaticString { "/3/device/" }
  static var size: Int { (pairs &+ 256) &* MemoryLayout<UInt16>.stride }

  /// `memory` is lent, and has that size.
  init(_ memory: UnsafeMutableRawPointer) {
    codes = memory.bindMemory(to: UInt16.self, capacity: Self.pairs &+ 256)
    codes.initialize(repeating: 0, count: Self.pairs)
    beginning = BitWriter(next: memory)
    let letters = UnsafeRawBufferPointer(
      start: Self.lengths.utf8Start, count: Self.lengths.utf8CodeUnitCount)
    var code: UInt16 = 0
    for length in UInt16(5)...12 {
      let letter = UInt8(truncatingIfNeeded: length < 10 ? 0x30 &+ length : 0x37 &+ length)
      for index in 0..<letters.count where letters[index] == letter {
        codes[Int(Self.lowest) &+ index] = code &<< 4 | length
        code &+= 1
      }
      code &<<= 1
    }
    for byte in 0..<256 {
      let high = codes[Int(hexDigit(UInt8(truncatingIfNeeded: byte &>> 4)))]
      let low = codes[Int(hexDigit(UInt8(truncatingIfNeeded: byte & 15)))]
      codes[Self.pairs &+ byte] =
        ((high &>> 4) &<< (low & 15) | low &>> 4) &<< 4 | (high & 15) &+ (low & 15)
    }
    for index in 0..<Self.path.utf8CodeUnitCount {
      beginning.add(codes[Int(Self.path.utf8Start[index])])
    }
  }

  /// How many bytes the text takes; nil where it has no code.
  func size(of text: UnsafeRawBufferPointer) -> Int? {
    var bits = 0
    for byte in text {
      guard byte < 0x80, codes[Int(byte)] != 0 else { return nil }
      bits &+= Int(codes[Int(byte)] & 15)
    }
    return (bits &+ 7) &>> 3
  }

  /// Writes a text that has a code; the end of it. Up to three bytes behind it are
  /// overwritten too.
  func write(
    _ text: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var bits = BitWriter(next: target)
    for byte in text {
      bits.add(codes[Int(byte & 0x7F)])
      bits.flush()
    }
    return bits.end()
  }

  /// The same of a path that ends in a token's hex digits.
  @_optimize(speed)
  func write(
    pathOf token: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var bits = beginning
    bits.next = target
    bits.flush()
    let pairs = codes + Self.pairs
    guard let base = token.baseAddress else { return bits.end() }
    let bytes = base.assumingMemoryBound(to: UInt8.self)
    var index = 0
    while index < token.count &- 1 {
      bits.add(pairs[Int(bytes[index])])
      bits.add(pairs[Int(bytes[index &+ 1])])
      bits.flush()
      index &+= 2
    }
    if index < token.count {
      bits.add(pairs[Int(bytes[index])])
      bits.flush()
    }
    return bits.end()
  }
}

/// Bits, the highest of each byte first.
private struct BitWriter {
  var next: UnsafeMutableRawPointer
  /// The lowest `count` of these are not written yet.
  private var bits: UInt64 = 0
  private var count: UInt64 = 0

  init(next: UnsafeMutableRawPointer) { self.next = next }

  @inline(__always)
  mutating func add(_ code: UInt16) {
    let length = UInt64(code & 15)
    bits = bits &<< length | UInt64(code &>> 4)
    count &+= length
  }

  /// Leaves fewer than 32; to be called before there are more than 64.
  @inline(__always)
  mutating func flush() {
    if count >= 32 {
      count &-= 32
      put(bits &>> count)
    }
  }

  @inline(__always)
  private mutating func put(_ word: UInt64) {
    next.storeBytes(of: UInt32(truncatingIfNeeded: word).bigEndian, as: UInt32.self)
    next += 4
  }

  /// Fills up the last byte with ones.
  mutating func end() -> UnsafeMutableRawPointer {
    let left = Int(count &+ 7) &>> 3
    put((bits &<< (32 &- count)) | (0xFFFF_FFFF &>> count))
    return next - 4 + left
  }
}
