/// Why bytes are not JSON, and where they stop being so.
struct JSONFault: Error {
  enum Reason: UInt8 {
    case end
    case value, nameOrEnd, name, colon, commaOrBracket, commaOrBrace, nothing
    case number, controlCharacter, escape, surrogate, utf8
    case tooDeep
  }

  var reason: Reason
  /// Counted in bytes from 0.
  var offset: Int

  init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

/// Takes JSON apart, a token at a time (RFC 8259), without recursion. Stricter than the
/// grammar in one thing: half a surrogate pair is refused, for no UTF-8 can say it.
struct JSONReader {
  /// As deep as Foundation reads on the device.
  static let deepest = 512

  enum Token {
    case beginObject, endObject, beginArray, endArray
    case name, string, integer, fraction, word, null
    case end
  }

  private enum Expected { case value, firstValue, firstName, name, next, end }

  let bytes: UnsafeRawBufferPointer
  private(set) var offset = 0
  /// Where the last token stands; of a name or a string what is between the quotation marks.
  private(set) var start = 0
  private(set) var end = 0
  private(set) var depth = 0
  private let deepest: Int
  private var expected = Expected.value
  /// A bit for each object or array that is open: set for an object.
  private var kinds = InlineArray<8, UInt64>(repeating: 0)

  /// `depth`: how many levels the text will stand in.
  init(_ bytes: UnsafeRawBufferPointer, within depth: Int = 0) {
    self.bytes = bytes
    deepest = Self.deepest &- depth
  }

  /// The next token; again and again `end` when the value is over.
  @_optimize(speed)
  @inline(never)
  mutating func next() throws(JSONFault) -> Token {
    if expected == .next, let closing = try separate() { return closing }
    skipSpace()
    guard offset < bytes.count else {
      guard expected == .end else { throw JSONFault(.end, at: offset) }
      return .end
    }
    let byte = bytes[offset]
    switch expected {
    case .end: throw JSONFault(.nothing, at: offset)
    case .firstName, .name:
      if byte == 0x7D, expected == .firstName { return close() }
      guard byte == 0x22 else {
        throw JSONFault(expected == .name ? .name : .nameOrEnd, at: offset)
      }
      try readString()
      let (first, last) = (start, end)
      skipSpace()
      guard offset < bytes.count else { throw JSONFault(.end, at: offset) }
      guard bytes[offset] == 0x3A else { throw JSONFault(.colon, at: offset) }
      offset &+= 1
      (start, end) = (first, last)
      expected = .value
      return .name
    case .firstValue:
      if byte == 0x5D { return close() }
      return try readValue(byte)
    default: return try readValue(byte)
    }
  }

  /// Passes over the rest of the value that begins with this token.
  @inline(never)
  mutating func skip(_ first: Token) throws(JSONFault) {
    guard first == .beginObject || first == .beginArray else { return }
    let level = depth
    while depth >= level { _ = try next() }
  }

  /// The last token's bytes.
  var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }

  private var isInObject: Bool {
    let level = depth &- 1
    return kinds[level >> 6] >> UInt64(level & 63) & 1 == 1
  }

  /// Reads what comes behind a value within an object or an array: a comma, or its end.
  private mutating func separate() throws(JSONFault) -> Token? {
    skipSpace()
    guard offset < bytes.count else { throw JSONFault(.end, at: offset) }
    let byte = bytes[offset]
    if byte == (isInObject ? 0x7D : 0x5D) { return close() }
    guard byte == 0x2C else {
      throw JSONFault(isInObject ? .commaOrBrace : .commaOrBracket, at: offset)
    }
    expected = isInObject ? .name : .value
    offset &+= 1
    return nil
  }

  private mutating func open(_ isObject: Bool) throws(JSONFault) -> Token {
    guard depth < deepest else { throw JSONFault(.tooDeep, at: offset) }
    let bit: UInt64 = 1 << UInt64(depth & 63)
    if isObject { kinds[depth >> 6] |= bit } else { kinds[depth >> 6] &= ~bit }
    depth &+= 1
    take(1)
    expected = isObject ? .firstName : .firstValue
    return isObject ? .beginObject : .beginArray
  }

  private mutating func close() -> Token {
    let token: Token = isInObject ? .endObject : .endArray
    take(1)
    depth &-= 1
    valueIsOver()
    return token
  }

  private mutating func valueIsOver() { expected = depth == 0 ? .end : .next }

  private mutating func take(_ count: Int) {
    start = offset
    offset &+= count
    end = offset
  }

  private mutating func readValue(_ byte: UInt8) throws(JSONFault) -> Token {
    switch byte {
    case 0x7B: return try open(true)
    case 0x5B: return try open(false)
    case 0x22:
      try readString()
      valueIsOver()
      return .string
    case 0x74: return try readWord("true", .word)
    case 0x66: return try readWord("false", .word)
    case 0x6E: return try readWord("null", .null)
    case 0x2D, 0x30...0x39: return try readNumber()
    default: throw JSONFault(.value, at: offset)
    }
  }

  private mutating func readWord(
    _ word: StaticString, _ token: Token
  ) throws(JSONFault) -> Token {
    for index in 0..<word.utf8CodeUnitCount {
      guard offset &+ index < bytes.count else { throw JSONFault(.end, at: bytes.count) }
      guard bytes[offset &+ index] == word.utf8Start[index] else {
        throw JSONFault(.value, at: offset)
      }
    }
    take(word.utf8CodeUnitCount)
    valueIsOver()
    return token
  }

  private mutating func readNumber() throws(JSONFault) -> Token {
    var index = offset
    var isInteger = true
    func digits() throws(JSONFault) {
      guard index < bytes.count else { throw JSONFault(.end, at: index) }
      guard isDigit(index) else { throw JSONFault(.number, at: index) }
      while isDigit(index) { index &+= 1 }
    }
    if bytes[index] == 0x2D { index &+= 1 }
    if index < bytes.count, bytes[index] == 0x30 {
      index &+= 1
      // 012 is no number.
      if isDigit(index) { throw JSONFault(.number, at: index) }
    } else {
      try digits()
    }
    if index < bytes.count, bytes[index] == 0x2E {
      isInteger = false
      index &+= 1
      try digits()
    }
    if index < bytes.count, bytes[index] | 0x20 == 0x65 {
      isInteger = false
      index &+= 1
      if index < bytes.count, bytes[index] == 0x2B || bytes[index] == 0x2D { index &+= 1 }
      try digits()
    }
    take(index &- offset)
    valueIsOver()
    return isInteger ? .integer : .fraction
  }

  private func isDigit(_ index: Int) -> Bool {
    index < bytes.count && bytes[index] >= 0x30 && bytes[index] <= 0x39
  }

  @_optimize(speed)
  @inline(never)
  private mutating func readString() throws(JSONFault) {
    var index = offset &+ 1
    index &+= JSONText.plainRun(bytes, from: index)
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x22 {
        start = offset &+ 1
        end = index
        offset = index &+ 1
        return
      }
      if byte == 0x5C {
        index &+= try JSONEscape.read(bytes, at: index).length
      } else if byte < 0x20 {
        throw JSONFault(.controlCharacter, at: index)
      } else if byte < 0x80 {
        index &+= 1
      } else {
        guard let character = UTF8Text.decode(bytes, at: index) else {
          throw JSONFault(.utf8, at: index)
        }
        index &+= character.length
      }
    }
    throw JSONFault(.end, at: bytes.count)
  }

  @inline(never)
  private mutating func skipSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x09, 0x0A, 0x0D: offset &+= 1
      default: return
      }
    }
  }
}

/// A backslash and what follows it.
enum JSONEscape {
  /// The character that the escape at `offset` stands for, and how many bytes it takes.
  @inline(never)
  static func read(
    _ bytes: UnsafeRawBufferPointer, at offset: Int
  ) throws(JSONFault) -> (scalar: UInt32, length: Int) {
    guard offset &+ 1 < bytes.count else { throw JSONFault(.end, at: bytes.count) }
    let letter = bytes[offset &+ 1]
    switch letter {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74:
      return (JSONText.value(ofLetter: letter), 2)
    case 0x75: break
    default: throw JSONFault(.escape, at: offset)
    }
    let unit = try readUnit(bytes, at: offset)
    guard unit & 0xF800 == 0xD800 else { return (unit, 6) }
    let low = offset &+ 6
    guard unit < 0xDC00, low &+ 1 < bytes.count, bytes[low] == 0x5C, bytes[low &+ 1] == 0x75
    else { throw JSONFault(.surrogate, at: offset) }
    let second = try readUnit(bytes, at: low)
    guard second & 0xFC00 == 0xDC00 else { throw JSONFault(.surrogate, at: offset) }
    return (0x10000 &+ (unit & 0x3FF) << 10 &+ (second & 0x3FF), 12)
  }

  private static func readUnit(
    _ bytes: UnsafeRawBufferPointer, at offset: Int
  ) throws(JSONFault) -> UInt32 {
    var unit: UInt32 = 0
    for index in (offset &+ 2)..<(offset &+ 6) {
      guard index < bytes.count else { throw JSONFault(.end, at: bytes.count) }
      let byte = bytes[index]
      switch byte {
      case 0x30...0x39: unit = unit << 4 | UInt32(byte &- 0x30)
      case 0x41...0x46: unit = unit << 4 | UInt32(byte &- 0x37)
      case 0x61...0x66: unit = unit << 4 | UInt32(byte &- 0x57)
      default: throw JSONFault(.escape, at: offset)
      }
    }
    return unit
  }
}
