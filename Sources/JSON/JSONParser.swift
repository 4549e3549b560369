/// Reads JSON strictly as RFC 8259 defines it.
package struct JSONParser {
  /// How deep arrays and objects may nest, to protect the stack.
  private static let maxDepth = 128

  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  package static func read(_ text: some Sequence<UInt8>) throws(JSONError) -> JSONValue {
    let bytes = Array(text)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in try read(bytes) }
    }
    return try result.get()
  }

  package static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    var reader = JSONParser(bytes: bytes)
    // Skips a byte order mark.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.offset = 3 }
    reader.skipSpace()
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    if reader.offset < bytes.count { throw reader.fault("text after the value") }
    return value
  }

  private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private func fault(_ message: String) -> JSONError { JSONError(message, at: offset) }

  private func expected(_ what: String) -> JSONError {
    fault(offset < bytes.count ? "expected \(what)" : "the text ends, but expected \(what)")
  }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      offset += 1
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    offset += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    if depth > Self.maxDepth { throw fault("nested deeper than \(Self.maxDepth)") }
    let start = offset
    let content: JSONValue.Content =
      switch next {
      case UInt8(ascii: "{"): .object(try members(depth: depth))
      case UInt8(ascii: "["): .array(try elements(depth: depth))
      case UInt8(ascii: "\""): .string(try string())
      case UInt8(ascii: "t"): try word("true", .bool(true))
      case UInt8(ascii: "f"): try word("false", .bool(false))
      case UInt8(ascii: "n"): try word("null", .null)
      default: .number(try number())
      }
    return JSONValue(content, at: start, end: offset)
  }

  private mutating func word(
    _ word: StaticString, _ content: JSONValue.Content
  ) throws(JSONError) -> JSONValue.Content {
    let matches = word.withUTF8Buffer { word in
      bytes.count - offset >= word.count
        && bytes[offset..<offset + word.count].elementsEqual(word)
    }
    guard matches else { throw expected("a value") }
    offset += word.utf8CodeUnitCount
    return content
  }

  private mutating func members(depth: Int) throws(JSONError) -> [JSONValue.Member] {
    offset += 1
    var members: [JSONValue.Member] = []
    skipSpace()
    if take(UInt8(ascii: "}")) { return members }
    while true {
      skipSpace()
      let start = offset
      guard next == UInt8(ascii: "\"") else { throw expected("a name in quotes") }
      let name = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw expected("':'") }
      skipSpace()
      members.append(
        JSONValue.Member(name: name, offset: start, value: try value(depth: depth + 1)))
      skipSpace()
      if take(UInt8(ascii: "}")) { return members }
      guard take(UInt8(ascii: ",")) else { throw expected("',' or '}'") }
    }
  }

  private mutating func elements(depth: Int) throws(JSONError) -> [JSONValue] {
    offset += 1
    var elements: [JSONValue] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return elements }
    while true {
      skipSpace()
      elements.append(try value(depth: depth + 1))
      skipSpace()
      if take(UInt8(ascii: "]")) { return elements }
      guard take(UInt8(ascii: ",")) else { throw expected("',' or ']'") }
    }
  }

  private mutating func digits() throws(JSONError) {
    let start = offset
    while let byte = next, (0x30...0x39).contains(byte) { offset += 1 }
    if offset == start { throw expected("a digit") }
  }

  private mutating func number() throws(JSONError) -> Double {
    let start = offset
    let isNegative = take(UInt8(ascii: "-"))
    guard let first = next, (0x30...0x39).contains(first) else {
      throw expected(isNegative ? "a digit" : "a value")
    }
    if first == 0x30 { offset += 1 } else { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    guard let number = Double(text), number.isFinite else {
      throw JSONError("the number is too large", at: start)
    }
    return number
  }

  private mutating func string() throws(JSONError) -> String {
    let start = offset
    offset += 1
    var text: [UInt8] = []
    while true {
      guard let byte = next else { throw JSONError("the string has no end", at: start) }
      if byte < 0x20 { throw fault("a control character in a string") }
      offset += 1
      if byte == UInt8(ascii: "\"") { break }
      if byte != UInt8(ascii: "\\") {
        text.append(byte)
        continue
      }
      let escape = next
      offset += 1
      switch escape {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escape ?? 0)
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "u"): text += Array(String(try scalar()).utf8)
      default: throw JSONError("not a JSON escape", at: offset - 2)
      }
    }
    guard let whole = String(validating: text, as: UTF8.self) else {
      throw JSONError("a string that is not UTF-8", at: start)
    }
    return whole
  }

  /// The character of a `\u` escape, or of two that are a pair of surrogates.
  private mutating func scalar() throws(JSONError) -> Character {
    let start = offset - 2
    let first = try unit()
    if let scalar = UnicodeScalar(first) { return Character(scalar) }
    guard (0xD800..<0xDC00).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u"))
    else { throw JSONError("half a surrogate pair", at: start) }
    let second = try unit()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw JSONError("half a surrogate pair", at: start) }
    return Character(scalar)
  }

  private mutating func unit() throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue, byte < 0x80
      else { throw expected("a hex digit") }
      unit = unit << 4 | UInt32(digit)
      offset += 1
    }
    return unit
  }
}
