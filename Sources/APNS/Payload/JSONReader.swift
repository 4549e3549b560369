/// Why bytes are not JSON, and where the fault is.
package struct JSONFault: Error {
  package enum Reason: UInt8 {
    case end
    case value, nameOrEnd, name, colon, commaOrBracket, commaOrBrace, nothing
    case number, controlCharacter, escape, surrogate, utf8
    case tooDeep
    case escapedQuote, utf16
  }

  package var reason: Reason
  /// Counted in bytes from 0.
  package var offset: Int

  init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

/// Splits JSON into tokens (RFC 8259), without recursion. It is stricter than the grammar
/// in one point: it refuses half a surrogate pair, because UTF-8 cannot encode it.
package struct JSONReader {
  /// The depth to which Foundation reads on the device.
  package static let deepest = 512

  package enum Token {
    case beginObject, endObject, beginArray, endArray
    case name, string, integer, fraction, word, null
    case end
  }

  private enum Expected { case value, firstValue, firstName, name, next, end }

  /// Not a buffer pointer, because that checks for NULL at every byte.
  private let base: UnsafeRawPointer
  private let count: Int
  private(set) var offset = 0
  /// The bounds of the last token; for a name or a string, the bounds of what is between
  /// the quotation marks.
  package private(set) var start = 0
  package private(set) var end = 0
  private(set) var depth = 0
  /// The last name or string contains an escape.
  package private(set) var hasEscape = false
  private var isInObject = false
  private var expected = Expected.value
  private let deepest: Int
  /// One bit for each open object or array, set for an object.
  private var kinds = InlineArray<8, UInt64>(repeating: 0)

  /// `depth`: how many levels will surround the text.
  package init(_ bytes: UnsafeRawBufferPointer, within depth: Int = 0) {
    let nothing: StaticString = ""
    base = bytes.baseAddress ?? UnsafeRawPointer(nothing.utf8Start)
    count = bytes.count
    deepest = Self.deepest &- depth
    if Self.hasMark(bytes) { offset = 3 }
  }

  /// Whether the text begins with a byte order mark, which is outside the JSON (RFC 8259, 8.1).
  @inline(__always)
  static func hasMark(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 3 && bytes[0] == 0xEF && bytes[1] == 0xBB && bytes[2] == 0xBF
  }

  /// The error if another character was expected: the whole text may be in UTF-16, or be escaped.
  @inline(never)
  private func fault(_ at: Int, _ byte: UInt8, or reason: JSONFault.Reason) -> JSONFault {
    if at < 2, count >= 4 {
      // A NUL in every second byte.
      if byte == 0, bytes[at] == bytes[at &+ 2], bytes[1 &- at] != 0, bytes[3 &- at] != 0 {
        return JSONFault(.utf16, at: 0)
      }
      if at == 0, byte >= 0xFE, bytes[1] == byte ^ 1 { return JSONFault(.utf16, at: 0) }
    }
    if byte == UInt8(ascii: "\\"), at &+ 1 < count, bytes[at &+ 1] == UInt8(ascii: "\"") {
      return JSONFault(.escapedQuote, at: at)
    }
    return JSONFault(reason, at: at)
  }

  @inline(__always)
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// The next token. After the end of the value it returns `end` every time.
  @_optimize(speed)
  @inline(never)
  package mutating func next() throws(JSONFault) -> Token { try step() }

  /// Skips the rest of the value that begins with this token.
  @_optimize(speed)
  @inline(never)
  package mutating func skip(_ first: Token) throws(JSONFault) {
    guard first == .beginObject || first == .beginArray else { return }
    let level = depth
    while depth >= level { _ = try step() }
  }

  /// The last token's bytes.
  package var token: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }

  @inline(__always)
  private mutating func step() throws(JSONFault) -> Token {
    var at = Self.behindSpace(bytes, offset)
    guard at < bytes.count else {
      offset = at
      guard expected == .end else { throw JSONFault(.end, at: at) }
      return .end
    }
    var byte = bytes[at]
    if expected == .next {
      guard byte == UInt8(ascii: ",") else { return try separate(at, byte) }
      expected = isInObject ? .name : .value
      at = Self.behindSpace(bytes, at &+ 1)
      guard at < bytes.count else { throw JSONFault(.end, at: at) }
      byte = bytes[at]
    }
    if expected == .name || expected == .firstName {
      guard byte == UInt8(ascii: "\"") else { return try noName(at, byte) }
      at = try readString(at)
      at = Self.behindSpace(bytes, at)
      guard at < bytes.count else { throw JSONFault(.end, at: at) }
      guard bytes[at] == UInt8(ascii: ":") else { throw JSONFault(.colon, at: at) }
      offset = at &+ 1
      expected = .value
      return .name
    }
    if expected == .end { throw JSONFault(.nothing, at: at) }
    switch byte {
    case 0x22:
      offset = try readString(at)
      valueIsOver()
      return .string
    case 0x30...0x39: return try readDigits(at)
    case 0x7B: return try open(at, true)
    case 0x5B: return try open(at, false)
    default: return try readOther(at, byte)
    }
  }

  /// Handles what follows a value in an object or an array and is not a comma: it has to be
  /// the end.
  @inline(__always)
  private mutating func separate(_ at: Int, _ byte: UInt8) throws(JSONFault) -> Token {
    guard byte == (isInObject ? 0x7D : 0x5D) else {
      throw JSONFault(isInObject ? .commaOrBrace : .commaOrBracket, at: at)
    }
    return close(at)
  }

  @inline(never)
  private mutating func noName(_ at: Int, _ byte: UInt8) throws(JSONFault) -> Token {
    if byte == UInt8(ascii: "}"), expected == .firstName { return close(at) }
    throw fault(at, byte, or: expected == .name ? .name : .nameOrEnd)
  }

  /// Spaces are rare, but where there is one there are usually several.
  @inline(__always)
  private static func behindSpace(_ bytes: UnsafeRawBufferPointer, _ from: Int) -> Int {
    var at = from
    while at < bytes.count {
      let byte = bytes[at]
      if byte > 0x20 { break }
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
      at &+= 1
    }
    return at
  }

  @inline(__always)
  private mutating func open(_ at: Int, _ isObject: Bool) throws(JSONFault) -> Token {
    guard depth < deepest else { throw JSONFault(.tooDeep, at: at) }
    let bit: UInt64 = 1 << UInt64(depth & 63)
    if isObject { kinds[depth >> 6] |= bit } else { kinds[depth >> 6] &= ~bit }
    depth &+= 1
    isInObject = isObject
    take(at, 1)
    expected = isObject ? .firstName : .firstValue
    return isObject ? .beginObject : .beginArray
  }

  @inline(never)
  private mutating func close(_ at: Int) -> Token {
    let token: Token = isInObject ? .endObject : .endArray
    take(at, 1)
    depth &-= 1
    valueIsOver()
    if depth > 0 {
      let level = depth &- 1
      isInObject = kinds[level >> 6] >> UInt64(level & 63) & 1 == 1
    }
    return token
  }

  @inline(__always)
  private mutating func valueIsOver() { expected = depth == 0 ? .end : .next }

  @inline(__always)
  private mutating func take(_ at: Int, _ count: Int) {
    start = at
    offset = at &+ count
    end = offset
  }

  @inline(never)
  private mutating func readOther(_ at: Int, _ byte: UInt8) throws(JSONFault) -> Token {
    switch byte {
    case 0x5D where expected == .firstValue: return close(at)
    case 0x74: return try readWord(at, "true", .word)
    case 0x66: return try readWord(at, "false", .word)
    case 0x6E: return try readWord(at, "null", .null)
    case 0x2D: return try readNumber(at)
    default: throw fault(at, byte, or: .value)
    }
  }

  private mutating func readWord(
    _ at: Int, _ word: StaticString, _ token: Token
  ) throws(JSONFault) -> Token {
    for index in 0..<word.utf8CodeUnitCount {
      guard at &+ index < bytes.count else { throw JSONFault(.end, at: bytes.count) }
      guard bytes[at &+ index] == word.utf8Start[index] else { throw JSONFault(.value, at: at) }
    }
    take(at, word.utf8CodeUnitCount)
    valueIsOver()
    return token
  }

  /// A number that begins with a digit. Most have only digits.
  @inline(__always)
  private mutating func readDigits(_ at: Int) throws(JSONFault) -> Token {
    var index = at &+ 1
    while isDigit(index) { index &+= 1 }
    if bytes[at] == 0x30 && index &- at > 1 { return try readNumber(at) }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") || bytes[index] | 0x20 == 0x65 {
      return try readNumber(at)
    }
    take(at, index &- at)
    valueIsOver()
    return .integer
  }

  @inline(never)
  private mutating func readNumber(_ at: Int) throws(JSONFault) -> Token {
    var index = at
    var isInteger = true
    func digits() throws(JSONFault) {
      guard index < bytes.count else { throw JSONFault(.end, at: index) }
      guard isDigit(index) else { throw JSONFault(.number, at: index) }
      while isDigit(index) { index &+= 1 }
    }
    if bytes[index] == UInt8(ascii: "-") { index &+= 1 }
    if index < bytes.count, bytes[index] == 0x30 {
      index &+= 1
      // 012 is not a number.
      if isDigit(index) { throw JSONFault(.number, at: index) }
    } else {
      try digits()
    }
    if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
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
    take(at, index &- at)
    valueIsOver()
    return isInteger ? .integer : .fraction
  }

  @inline(__always)
  private func isDigit(_ index: Int) -> Bool {
    index < bytes.count && bytes[index] &- 0x30 < 10
  }

  /// Reads the string with its quotation mark at `at`, and returns its end.
  @inline(__always)
  private mutating func readString(_ at: Int) throws(JSONFault) -> Int {
    start = at &+ 1
    end = JSONText.plainEnd(bytes, from: start)
    hasEscape = false
    if end < bytes.count, bytes[end] == UInt8(ascii: "\"") { return end &+ 1 }
    return try readString(behind: end)
  }

  /// The same for a string that has more than unescaped ASCII.
  @_optimize(speed)
  @inline(never)
  private mutating func readString(behind plain: Int) throws(JSONFault) -> Int {
    var index = plain
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        end = index
        return index &+ 1
      }
      if byte >= 0x80 {
        index = UTF8Text.wholeEnd(bytes, from: index)
        guard index >= 0 else { throw JSONFault(.utf8, at: ~index) }
      } else if byte == UInt8(ascii: "\\") {
        hasEscape = true
        index &+= try JSONEscape.read(bytes, at: index).length
      } else if byte < 0x20 {
        throw JSONFault(.controlCharacter, at: index)
      }
      index = JSONText.plainEnd(bytes, from: index)
    }
    throw JSONFault(.end, at: bytes.count)
  }
}

/// A backslash and the characters that belong to it.
package enum JSONEscape {
  /// The character that the escape at `offset` stands for, and how many bytes it takes.
  @inline(never)
  package static func read(
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
