import APNS

/// Reads JSON strictly as RFC 8259 defines it, with the library's reader.
package struct JSONParser {
  /// How deep arrays and objects may nest, to protect the stack.
  private static let maxDepth = 128

  private var reader: JSONReader

  package static func read(_ text: some Sequence<UInt8>) throws(JSONError) -> JSONValue {
    let bytes = Array(text)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in try read(bytes) }
    }
    return try result.get()
  }

  package static func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    var parser = JSONParser(
      reader: JSONReader(bytes, within: JSONReader.deepest - maxDepth))
    let value = try parser.value(try parser.next())
    _ = try parser.next()
    return value
  }

  private mutating func next() throws(JSONError) -> JSONReader.Token {
    do throws(JSONFault) {
      return try reader.next()
    } catch {
      if error.reason == .end, let start = openString {
        throw JSONError("the string has no end", at: start)
      }
      if error.reason == .tooDeep {
        throw JSONError("nested deeper than \(Self.maxDepth)", at: error.offset)
      }
      throw JSONError(String(decoding: error.reason.words, as: UTF8.self), at: error.offset)
    }
  }

  /// The start of the last string, if it has no end.
  private var openString: Int? {
    let quote = UInt8(ascii: "\"")
    let bytes = reader.bytes[max(reader.start - 1, 0)...]
    guard bytes.first == quote else { return nil }
    var isEscaped = true
    for byte in bytes {
      if byte == quote, !isEscaped { return nil }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
    return bytes.startIndex
  }

  private mutating func value(_ first: JSONReader.Token) throws(JSONError) -> JSONValue {
    let start = reader.start
    switch first {
    case .beginObject:
      var members: [JSONValue.Member] = []
      while try next() == .name {
        let (name, offset) = (text(), reader.start - 1)
        members.append(JSONValue.Member(name: name, offset: offset, value: try value(try next())))
      }
      return JSONValue(.object(members), at: start, end: reader.end)
    case .beginArray:
      var elements: [JSONValue] = []
      while case let token = try next(), token != .endArray { elements.append(try value(token)) }
      return JSONValue(.array(elements), at: start, end: reader.end)
    case .string: return JSONValue(.string(text()), at: start - 1, end: reader.end + 1)
    case .integer, .fraction:
      guard let number = Double(String(decoding: reader.token, as: UTF8.self)), number.isFinite
      else {
        throw JSONError("the number is too large", at: start)
      }
      return JSONValue(.number(number), at: start, end: reader.end)
    case .word: return JSONValue(.bool(reader.token.count == 4), at: start, end: reader.end)
    default: return JSONValue(.null, at: start, end: reader.end)
    }
  }

  /// The last name or string.
  private func text() -> String {
    reader.hasEscape
      ? JSONLiteral.text(reader.token) : String(decoding: reader.token, as: UTF8.self)
  }
}
