/// Reads `"key" = "value";` pairs as the device does (CFOldStylePList.c), but reports an error
/// where the device would fail silently.
struct StringsParser {
  private var reader: CharacterReader

  static func parse(
    _ file: UnsafeRawBufferPointer, into table: inout StringsTable
  ) throws(StringsFault) {
    if starts(file, with: "bplist") {
      throw StringsFault(reason: .binaryList, place: TextPlace())
    }
    let start = starts(file, with: "\u{FEFF}") ? 3 : 0
    if starts(file, with: "<?xml", at: start) || starts(file, with: "<plist", at: start)
      || starts(file, with: "<!DOCTYPE plist", at: start)
    {
      throw StringsFault(reason: .xmlList, place: TextPlace())
    }
    var parser = StringsParser(reader: try CharacterReader(file))
    do throws(StringsFault) {
      try parser.parseAll(into: &table)
    } catch {
      // JSON, with a colon after the first key.
      guard error.reason == .noEqualSign, error.character == 0x3A, parser.isInBrace else {
        throw error
      }
      throw StringsFault(reason: .catalog, place: TextPlace())
    }
  }

  /// The pairs have a brace around them.
  private var isInBrace = false

  private init(reader: CharacterReader) { self.reader = reader }

  private static func starts(
    _ file: UnsafeRawBufferPointer, with text: StaticString, at start: Int = 0
  ) -> Bool {
    start <= file.count && UnsafeRawBufferPointer(rebasing: file[start...]).starts(with: text)
  }

  private mutating func parseAll(into table: inout StringsTable) throws(StringsFault) {
    try skipBlanks()
    // A complete property list may have braces around its pairs.
    let brace = reader.current == 0x7B ? reader.place : nil
    if brace != nil {
      isInBrace = true
      try reader.advance()
      try skipBlanks()
    }
    while let character = reader.current {
      if brace != nil, character == UInt8(ascii: "}") {
        try reader.advance()
        try skipBlanks()
        if reader.current != nil { throw reader.fault(.behindEnd) }
        return
      }
      try parsePair(into: &table)
      try skipBlanks()
    }
    if let brace { throw StringsFault(reason: .openBrace, place: brace) }
  }

  private mutating func parsePair(into table: inout StringsTable) throws(StringsFault) {
    let keyReader = reader
    let keyStart = table.end
    let keyLength = try string(orElse: .noKey, into: &table)
    var entry = StringsTable.Entry(
      keyStart: keyStart, keyLength: keyLength, valueStart: keyStart, valueLength: keyLength,
      value: keyReader)
    try skipBlanks()
    // A key without a value is its own value.
    if reader.current != 0x3B {
      guard reader.current == 0x3D else { throw reader.fault(.noEqualSign) }
      try reader.advance()
      try skipBlanks()
      entry.value = reader
      entry.valueStart = table.end
      entry.valueLength = try string(orElse: .noValue, into: &table)
      try skipBlanks()
      guard reader.current == 0x3B else { throw reader.fault(.noSemicolon) }
    }
    try reader.advance()
    try table.append(entry)
  }

  private mutating func string(
    orElse reason: StringsFault.Reason, into table: inout StringsTable
  ) throws(StringsFault) -> UInt32 {
    guard var string = try StringReader(reader) else {
      // Arrays, dictionaries and data are property lists too, but not texts.
      let next = reader.current
      let isOther = next == 0x28 || next == 0x7B || next == 0x3C
      throw reader.fault(isOther && reason == .noValue ? .noText : reason)
    }
    let length = try table.append(&string)
    reader = string.reader
    return length
  }

  /// Skips blanks and comments. A slash that does not begin a comment may begin a string.
  @inline(never)
  private mutating func skipBlanks() throws(StringsFault) {
    while let character = reader.current {
      switch character {
      case 0x09...0x0D, 0x20, 0x2028, 0x2029: try reader.advance()
      case 0x2F:
        var ahead = reader
        try ahead.advance()
        switch ahead.current {
        case 0x2F:
          while let passed = ahead.current, !Self.endsLine(passed) { try ahead.advance() }
        case 0x2A:
          try ahead.advance()
          var wasStar = false
          while ahead.current != 0x2F || !wasStar {
            guard let passed = ahead.current else { throw reader.fault(.openComment) }
            wasStar = passed == UInt8(ascii: "*")
            try ahead.advance()
          }
          try ahead.advance()
        default: return
        }
        reader = ahead
      default: return
      }
    }
  }

  private static func endsLine(_ character: UInt32) -> Bool {
    character == 0x0A || character == 0x0D || character == 0x2028 || character == 0x2029
  }
}
