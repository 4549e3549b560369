extension RequestTarget {
  /// The path before the query, unchanged, and the query's parameters as a form encodes them: `+` is a
  /// space, and `%` without two hex digits stays. The first of several with the same name counts.
  package var parts: (path: String, query: [String: String]) {
    let halves = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var query: [String: String] = [:]
    for pair in halves.dropFirst().first?.split(separator: "&") ?? [] {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = Self.decoded(sides[0])
      if query[name] == nil { query[name] = sides.count == 2 ? Self.decoded(sides[1]) : "" }
    }
    return (String(halves.first ?? ""), query)
  }

  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { Character(UnicodeScalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        bytes.append(UInt8(digits[0] << 4 | digits[1]))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
