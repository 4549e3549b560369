/// HPACK's Huffman code (RFC 7541, 5.2 and appendix B) for characters with codes of at most
/// twelve bits. Texts with other characters are sent plainly.
struct HuffmanCode {
  /// The length of each character's code, from the space on: 5 to 9, A to C for 10 to 12,
  /// and - for longer codes. Codes are assigned by length, and within one length in the
  /// characters' order.
  private static var lengths: StaticString {
    """
    6AAC-68BAA8B8666555666666678-6CA-67777777777777777777777878--\
    --6-56565666577666567655677777-B--
    """
  }
  private static var lowest: UInt8 { 0x20 }

  /// The codes of bytes as two hex digits, and their lengths: apart, because that takes fewer
  /// instructions for each.
  private let pairs: UnsafeMutablePointer<UInt64>
  private let pairLengths: UnsafeMutablePointer<UInt8>
  /// The codes of characters. Each has its length in the lowest six bits, or is 0 if there is no
  /// code.
  private let codes: UnsafeMutablePointer<UInt32>
  /// The start of each path: 57 bits.
  private var beginning: BitWriter
  private static var path: StaticString { "/3/device/" }
  private static var codesOffset: Int { 256 &* MemoryLayout<UInt64>.stride &+ 256 }
  static var size: Int { codesOffset &+ 128 &* MemoryLayout<UInt32>.stride }

  /// `memory` is lent by the caller and has `size` bytes.
  init(_ memory: UnsafeMutableRawPointer) {
    pairs = memory.bindMemory(to: UInt64.self, capacity: 256)
    pairLengths = UnsafeMutableRawPointer(pairs + 256).bindMemory(to: UInt8.self, capacity: 256)
    codes = (memory + Self.codesOffset).bindMemory(to: UInt32.self, capacity: 128)
    codes.initialize(repeating: 0, count: 128)
    beginning = BitWriter(next: memory)
    let letters = UnsafeRawBufferPointer(Self.lengths)
    var code: UInt32 = 0
    for length in UInt32(5)...12 {
      let letter = UInt8(truncatingIfNeeded: length < 10 ? 0x30 &+ length : 0x37 &+ length)
      for index in 0..<letters.count where letters[index] == letter {
        codes[Int(Self.lowest) &+ index] = code &<< 6 | length
        code &+= 1
      }
      code &<<= 1
    }
    for byte in 0..<256 {
      let high = codes[Int(hexDigit(UInt8(truncatingIfNeeded: byte &>> 4)))]
      let low = codes[Int(hexDigit(UInt8(truncatingIfNeeded: byte & 15)))]
      pairs[byte] = UInt64((high &>> 6) &<< (low & 63) | low &>> 6)
      pairLengths[byte] = UInt8(truncatingIfNeeded: (high & 63) &+ (low & 63))
    }
    for index in 0..<Self.path.utf8CodeUnitCount {
      beginning.add(codes[Int(Self.path.utf8Start[index])])
    }
  }

  /// The length in bytes of the coded text; nil if a character has no code.
  func size(of text: UnsafeRawBufferPointer) -> Int? {
    var bits = 0
    for byte in text {
      guard byte < 0x80, codes[Int(byte)] != 0 else { return nil }
      bits &+= Int(codes[Int(byte)] & 63)
    }
    return (bits &+ 7) &>> 3
  }

  /// Writes a text of characters that all have codes, and returns its end. It may overwrite up to
  /// eight bytes after the end.
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

  /// The same for a path that ends in a token's hex digits.
  @_optimize(speed)
  func write(
    pathOf token: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var bits = beginning
    bits.next = target
    bits.flush()
    var left = token
    while left.count >= 4 {
      for place in 0..<4 { bits.add(pairs, pairLengths, Int(left[place])) }
      bits.flush()
      left = UnsafeRawBufferPointer(rebasing: left[4...])
    }
    for byte in left { bits.add(pairs, pairLengths, Int(byte)) }
    bits.flush()
    return bits.end()
  }
}

/// Writes bits, the highest of each byte first.
private struct BitWriter {
  var next: UnsafeMutableRawPointer
  /// The lowest of these bits are not written yet: as many as the lowest six bits of `count` say.
  private var bits: UInt64 = 0
  private var count: UInt64 = 0

  init(next: UnsafeMutableRawPointer) { self.next = next }

  @inline(__always)
  mutating func add(_ code: UInt32) {
    bits = bits &<< UInt64(code) | UInt64(code &>> 6)
    count &+= UInt64(code)
  }

  @inline(__always)
  mutating func add(
    _ codes: UnsafeMutablePointer<UInt64>, _ lengths: UnsafeMutablePointer<UInt8>, _ place: Int
  ) {
    let length = UInt64(lengths[place])
    bits = bits &<< length | codes[place]
    count &+= length
  }

  /// Leaves fewer than eight bits. Must be called before there are more than 63.
  @inline(__always)
  mutating func flush() {
    next.storeBytes(of: (bits &<< (64 &- count)).bigEndian, as: UInt64.self)
    next += Int(truncatingIfNeeded: count & 63) &>> 3
    count &= 7
  }

  /// Fills the last byte with ones, after a flush.
  @inline(__always)
  mutating func end() -> UnsafeMutableRawPointer {
    guard count > 0 else { return next }
    let last = bits &<< (8 &- count) | 0xFF &>> count
    next.storeBytes(of: UInt8(truncatingIfNeeded: last), as: UInt8.self)
    return next + 1
  }
}
