/// A device's field in a JSON text, such as {{name}}.
package enum Placeholder {
  /// The name of the placeholder at `start`, and its end; nil if the text has no placeholder there.
  package static func name(in text: [UInt8], at start: Int) -> (name: Range<Int>, end: Int)? {
    guard start + 4 < text.count, text[start] == UInt8(ascii: "{"),
      text[start + 1] == UInt8(ascii: "{")
    else { return nil }
    let name = text[(start + 2)...].prefix { isNamePart($0) }
    let end = name.endIndex
    guard !name.isEmpty, end + 1 < text.count, text[end] == UInt8(ascii: "}"),
      text[end + 1] == UInt8(ascii: "}")
    else { return nil }
    return (name.startIndex..<end, end + 2)
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || "_-.".utf8.contains(byte) || byte >= 0x80
  }

  /// The whole text is one.
  package static func isWhole(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return name(in: bytes, at: 0)?.end == bytes.count
  }
}
