import CSystem

/// One line of text of fixed size, so that describing a failure needs no memory. Never inlined:
/// failures are rare, and their code would crowd out the rest.
struct Message {
  /// The room in `apns_error_t`, with the NUL.
  static let capacity = 240

  private(set) var bytes = InlineArray<240, UInt8>(repeating: 0)
  private(set) var count = 0
  /// Something was left off, so nothing more may be appended.
  private var isFull = false

  /// Appends one printable ASCII character; any other byte becomes a question mark.
  @inline(never)
  mutating func append(ascii byte: UInt8) {
    guard !isFull, count < Self.capacity &- 1 else { return }
    bytes[count] = byte < 0x20 || byte >= 0x7F ? 0x3F : byte
    count &+= 1
  }

  /// Appends text from any source, without a key. The line stays one readable line of UTF-8: each
  /// byte that is not UTF-8, and each character that would change how the line is shown, becomes a
  /// question mark. A character that does not fit is left off whole. All text is appended this way.
  @inline(never)
  mutating func append(text: UnsafeRawBufferPointer) {
    if !withhold(text, Unquoted(keyIn: text)) { append(whole: text) }
  }

  /// Appends a name up to the middle of the line, because the text about it needs room too.
  @inline(never)
  mutating func append(name: UnsafeRawBufferPointer) {
    if withhold(name, Unquoted(keyIn: name)) { return }
    if !append(name, before: Self.capacity / 2) { append("...") }
  }

  /// Appends the length of a value that must not be quoted. False if it may be quoted.
  private mutating func withhold(_ value: UnsafeRawBufferPointer, _ reason: Unquoted?) -> Bool {
    guard let reason else { return false }
    append("(")
    append(value.count)
    append(" bytes, not shown: ")
    append(reason.words)
    append(")")
    return true
  }

  private mutating func append(whole text: UnsafeRawBufferPointer) {
    if !append(text, before: Self.capacity &- 1) { isFull = true }
  }

  /// False if the text does not fit before `end`.
  private mutating func append(_ text: UnsafeRawBufferPointer, before end: Int) -> Bool {
    var index = 0
    while index < text.count, !isFull {
      let character = UTF8Text.decode(text, at: index)
      if let character, UTF8Text.isPlain(character.scalar) {
        guard count &+ character.length <= end else { return false }
        for step in 0..<character.length { bytes[count &+ step] = text[index &+ step] }
        count &+= character.length
      } else {
        guard count < end else { return false }
        append(ascii: UInt8(ascii: "?"))
      }
      index &+= character?.length ?? 1
    }
    return true
  }

  @inline(never)
  mutating func append(_ text: StaticString) {
    append(whole: UnsafeRawBufferPointer(text))
  }

  /// Appends a value from outside, if it may be quoted.
  @inline(never)
  mutating func append(_ text: UnsafePointer<CChar>?) {
    guard let text else { return }
    let value = UnsafeRawBufferPointer(start: text, count: strlen(text))
    if !withhold(value, Unquoted(value)) { append(whole: value) }
  }

  @inline(never)
  mutating func append(_ number: Int) {
    if number < 0 { append(ascii: UInt8(ascii: "-")) }
    append(decimal: UInt64(number.magnitude))
  }

  @inline(never)
  mutating func append(_ number: UInt32) { append(decimal: UInt64(number)) }

  /// Appends a `size_t`, which Swift imports as a signed number.
  @inline(never)
  mutating func append(size: Int) { append(decimal: UInt64(UInt(bitPattern: size))) }

  /// Appends the fault of a notification's expiry.
  @inline(never)
  mutating func append(expiry seconds: UNIXSeconds) {
    append("expiry is ")
    append(Int(seconds))
    append(", neither a time nor APNS_EXPIRY_ONCE")
  }

  @inline(never)
  mutating func append(_ number: UInt64) { append(decimal: number) }

  private mutating func append(decimal number: UInt64) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor &*= 10 }
    while divisor > 0 {
      append(ascii: 0x30 &+ UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    }
  }

  @inline(never)
  mutating func append(hex byte: UInt8) {
    append(ascii: hexDigit(byte >> 4))
    append(ascii: hexDigit(byte & 15))
  }

  @inline(never)
  mutating func append(_ other: borrowing Message) {
    var copy = other.bytes
    let length = other.count
    withUnsafeBytes(of: &copy) { append(whole: UnsafeRawBufferPointer(rebasing: $0[0..<length])) }
  }

  /// Appends the system's words for an error number.
  @inline(never)
  mutating func append(systemError code: CInt) {
    // strerror() is not thread-safe.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      buffer.initialize(repeating: 0)
      append(csystem_error_text(code, buffer.baseAddress, buffer.count))
    }
  }

  /// Copies the line and a NUL: as many whole characters as fit.
  @inline(never)
  func copy(to target: UnsafeMutableRawBufferPointer) {
    guard target.count > 0 else { return }
    var length = min(count, target.count &- 1)
    while length > 0, length < count, bytes[length] & 0xC0 == 0x80 { length &-= 1 }
    for index in 0..<length { target[index] = bytes[index] }
    target[length] = 0
  }
}

/// The lowercase digit for the low four bits.
func hexDigit(_ value: UInt8) -> UInt8 {
  value < 10 ? 0x30 &+ value : 0x57 &+ value
}
