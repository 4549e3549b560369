/// A parsed JSON text. Every value has its position.
package struct JSONValue: Sendable {
  package enum Content: Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])
  }

  package struct Member: Sendable {
    package var name: String
    package var offset: Int
    package var value: JSONValue

    package init(name: String, offset: Int, value: JSONValue) {
      (self.name, self.offset, self.value) = (name, offset, value)
    }
  }

  package var content: Content
  /// In bytes from the start of the text.
  package var offset: Int
  /// The end in the text; the start if the value was not parsed.
  package var end: Int

  package init(_ content: Content, at offset: Int = 0, end: Int? = nil) {
    self.content = content
    self.offset = offset
    self.end = end ?? offset
  }

  /// The last member of that name.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = content else { return nil }
    return members.last { $0.name == name }?.value
  }

  package var integer: Int? {
    guard case .number(let number) = content else { return nil }
    return Int(exactly: number)
  }

  package var number: Double? {
    guard case .number(let number) = content else { return nil }
    return number
  }

  package var string: String? {
    guard case .string(let string) = content else { return nil }
    return string
  }
}

/// The reason why a text is not the expected JSON, and the position.
package struct JSONError: Error, Equatable {
  package var message: String
  package var offset: Int

  package init(_ message: String, at offset: Int) {
    self.message = message
    self.offset = offset
  }

  /// Line and column, both counted from 1, the column in bytes.
  package func place(in text: some Collection<UInt8>) -> (line: Int, column: Int) {
    var line = 1
    var column = 1
    for byte in text.prefix(offset) {
      column += 1
      if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 1) }
    }
    return (line, column)
  }
}
