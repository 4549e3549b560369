/// Reads one string of a strings file. In quotes, its escapes are undone; without quotes,
/// it goes as far as Apple's parser allows.
struct StringReader {
  private(set) var reader: CharacterReader
  /// Nil for a string without quotes.
  private let quote: UInt32?
  private let start: TextPlace
  /// The place of the character that `next` returned last.
  private(set) var place: TextPlace

  /// Nil if no string begins here.
  init?(_ reader: CharacterReader) throws(StringsFault) {
    guard let first = reader.current else { return nil }
    let isQuoted = first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
    if !isQuoted, !Self.isBare(first) { return nil }
    self.reader = reader
    quote = isQuoted ? first : nil
    start = reader.place
    place = reader.place
    if isQuoted { try self.reader.advance() }
  }

  /// The next character; nil after the last, when `reader` is past the string.
  @inline(never)
  mutating func next() throws(StringsFault) -> UInt32? {
    place = reader.place
    let character = reader.current
    guard let quote else {
      guard let character, Self.isBare(character) else { return nil }
      try reader.advance()
      return character
    }
    guard let character else { throw StringsFault(reason: .openString, place: start) }
    try reader.advance()
    if character == quote { return nil }
    return character == UInt8(ascii: "\\") ? try escape() : character
  }

  /// Letters, digits and `_ $ / : . -`, as in CFOldStylePList.c.
  private static func isBare(_ character: UInt32) -> Bool {
    switch character {
    case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x24, 0x2D...0x2F: true
    default: false
    }
  }

  /// The escapes that Apple's parser knows. For any other it would drop the backslash.
  @inline(never)
  private mutating func escape() throws(StringsFault) -> UInt32 {
    guard let kind = reader.current else { throw StringsFault(reason: .openString, place: start) }
    let meant: UInt32
    switch kind {
    case 0x22, 0x27, 0x5C, 0x0A, 0x0D: meant = kind
    case 0x61: meant = 0x07
    case 0x62: meant = 0x08
    case 0x66: meant = 0x0C
    case 0x6E: meant = 0x0A
    case 0x72: meant = 0x0D
    case 0x74: meant = 0x09
    case 0x76: meant = 0x0B
    case 0x30...0x37: return try octal()
    case 0x55:
      try reader.advance()
      return try unicode()
    default: throw StringsFault(reason: .unknownEscape, place: place, character: kind)
    }
    try reader.advance()
    return meant
  }

  /// An octal number of one to three digits, a character of NeXTSTEP's set.
  private mutating func octal() throws(StringsFault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<3 {
      guard let digit = reader.current, digit & 0xFFFF_FFF8 == 0x30 else { break }
      value = value &<< 3 | digit & 7
      try reader.advance()
    }
    guard let character = NextStepCharacters.unicode(value) else {
      throw StringsFault(reason: .octalEscape, place: place)
    }
    return character
  }

  /// After `\U`: four digits for a unit of UTF-16 and, for a pair, the second half.
  private mutating func unicode() throws(StringsFault) -> UInt32 {
    let unit = try unicodeDigits()
    if unit & 0xF800 != 0xD800 { return unit }
    guard unit < 0xDC00, reader.current == 0x5C else { throw unpaired(unit) }
    var ahead = reader
    try ahead.advance()
    guard ahead.current == 0x55 else { throw unpaired(unit) }
    try ahead.advance()
    reader = ahead
    let second = try unicodeDigits()
    guard second & 0xFC00 == 0xDC00 else { throw unpaired(unit) }
    return CharacterReader.paired(unit, second)
  }

  @inline(never)
  private func unpaired(_ unit: UInt32) -> StringsFault {
    StringsFault(reason: .unpairedSurrogate, place: place, character: unit)
  }

  @inline(never)
  private mutating func unicodeDigits() throws(StringsFault) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let digit = Self.hexadecimal(reader.current) else {
        throw StringsFault(reason: .unicodeEscape, place: place)
      }
      value = value &<< 4 | digit
      try reader.advance()
    }
    return value
  }

  private static func hexadecimal(_ character: UInt32?) -> UInt32? {
    switch character {
    case .some(let digit) where digit >= 0x30 && digit <= 0x39: digit &- 0x30
    case .some(let digit) where digit >= 0x41 && digit <= 0x46: digit &- 0x37
    case .some(let digit) where digit >= 0x61 && digit <= 0x66: digit &- 0x57
    default: nil
    }
  }
}
