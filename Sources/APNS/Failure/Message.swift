import CSystem

/// One line of text of fixed size, so that saying what failed needs no memory.
/// Never inlined: what fails is rare, and its code would crowd out what does not.
struct Message {
  /// As `apns_error_t` has room for, with the NUL.
  static let capacity = 240

  private(set) var bytes = InlineArray<240, UInt8>(repeating: 0)
  private(set) var count = 0

  /// Appends one byte of text; control characters would break the one line.
  @inline(never)
  mutating func append(byte: UInt8) {
    guard count < Self.capacity &- 1 else { return }
    bytes[count] = byte < 0x20 || byte == 0x7F ? 0x3F : byte
    count &+= 1
  }

  @inline(never)
  mutating func append(_ text: StaticString) {
    let start = text.utf8Start
    for index in 0..<text.utf8CodeUnitCount { append(byte: start[index]) }
  }

  @inline(never)
  mutating func append(_ text: UnsafePointer<CChar>?) {
    guard var text else { return }
    while text.pointee != 0 {
      append(byte: UInt8(bitPattern: text.pointee))
      text += 1
    }
  }

  @inline(never)
  mutating func append(_ number: Int) {
    if number < 0 { append(byte: 0x2D) }
    append(decimal: UInt64(number.magnitude))
  }

  @inline(never)
  mutating func append(_ number: UInt32) { append(decimal: UInt64(number)) }

  private mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor &*= 10 }
    while divisor > 0 {
      append(byte: 0x30 &+ UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    }
  }

  @inline(never)
  mutating func append(hex byte: UInt8) {
    append(byte: hexDigit(byte >> 4))
    append(byte: hexDigit(byte & 15))
  }

  @inline(never)
  mutating func append(_ other: borrowing Message) {
    for index in 0..<other.count { append(byte: other.bytes[index]) }
  }

  /// The system's words for an error number.
  @inline(never)
  mutating func append(systemError code: CInt) {
    // strerror() is not safe with threads.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      buffer.initialize(repeating: 0)
      append(csystem_error_text(code, buffer.baseAddress, buffer.count))
    }
  }

  /// Copies the line and a NUL. A character that was cut in two is left off.
  @inline(never)
  func copy(to target: UnsafeMutableRawBufferPointer) {
    let length = min(count == Self.capacity &- 1 ? wholeCharacters : count, target.count &- 1)
    guard length >= 0 else { return }
    for index in 0..<length { target[index] = bytes[index] }
    target[length] = 0
  }

  /// The length without the piece of a UTF-8 character at its end.
  private var wholeCharacters: Int {
    var lead = count
    while lead > 0, bytes[lead &- 1] & 0xC0 == 0x80 { lead &-= 1 }
    guard lead > 0 else { return 0 }
    let first = bytes[lead &- 1]
    let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    return lead &- 1 &+ length > count ? lead &- 1 : count
  }
}

/// The lowercase digit for the low four bits.
func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? 0x30 &+ value : 0x57 &+ value
}
