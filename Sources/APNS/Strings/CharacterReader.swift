/// Reads the characters of a text one after another, in UTF-8 or in UTF-16 with a byte
/// order mark. To look ahead, copy the reader and advance the copy.
struct CharacterReader {
  private enum Encoding { case utf8, utf16Little, utf16Big }

  private let bytes: UnsafeRawBufferPointer
  private let encoding: Encoding
  /// The index of the byte after `current`.
  private var next: Int
  /// The character to be read next; nil at the end.
  private(set) var current: UInt32?
  private(set) var place = TextPlace()

  @inline(never)
  init(_ bytes: UnsafeRawBufferPointer) throws(StringsFault) {
    self.bytes = bytes
    (encoding, next) =
      switch (Self.byte(bytes, 0), Self.byte(bytes, 1), Self.byte(bytes, 2)) {
      case (0xFF, 0xFE, _): (.utf16Little, 2)
      case (0xFE, 0xFF, _): (.utf16Big, 2)
      case (0xEF, 0xBB, 0xBF): (.utf8, 3)
      default: (.utf8, 0)
      }
    current = nil
    current = try decode()
  }

  // This and the functions below are never inlined: many places call them, and speed does
  // not matter in any of them.
  @inline(never)
  mutating func advance() throws(StringsFault) {
    guard let passed = current else { return }
    let isBreak =
      passed == 0x0A || passed == 0x2028 || passed == 0x2029
      // CR LF counts as one line break.
      || passed == 0x0D && !isLineFeedNext
    if isBreak {
      place.line &+= 1
      place.column = 1
    } else {
      place.column &+= 1
    }
    current = try decode()
  }

  @inline(never)
  func fault(_ reason: StringsFault.Reason) -> StringsFault {
    StringsFault(reason: reason, place: place, character: current ?? 0)
  }

  private var isLineFeedNext: Bool {
    switch encoding {
    case .utf8: Self.byte(bytes, next) == 0x0A
    case .utf16Little, .utf16Big: unit(at: next) == 0x0A
    }
  }

  private static func byte(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt32? {
    index < bytes.count ? UInt32(bytes[index]) : nil
  }

  private func unit(at index: Int) -> UInt32? {
    guard let first = Self.byte(bytes, index), let second = Self.byte(bytes, index &+ 1) else {
      return nil
    }
    return encoding == .utf16Big ? first &<< 8 | second : second &<< 8 | first
  }

  @inline(never)
  private mutating func decode() throws(StringsFault) -> UInt32? {
    guard next < bytes.count else { return nil }
    let character: UInt32
    switch encoding {
    case .utf8: character = try decodeUTF8()
    case .utf16Little, .utf16Big: character = try decodeUTF16()
    }
    // UTF-16 without its mark would look like this, and in a text a NUL means nothing.
    if character == 0 { throw StringsFault(reason: .nulCharacter, place: place) }
    return character
  }

  private mutating func decodeUTF16() throws(StringsFault) -> UInt32 {
    guard let first = unit(at: next) else {
      throw StringsFault(reason: .notUTF16, place: place)
    }
    next &+= 2
    if first & 0xF800 != 0xD800 { return first }
    guard first < 0xDC00, let second = unit(at: next), second & 0xFC00 == 0xDC00 else {
      throw StringsFault(reason: .unpairedSurrogate, place: place, character: first)
    }
    next &+= 2
    return Self.paired(first, second)
  }

  static func paired(_ high: UInt32, _ low: UInt32) -> UInt32 {
    0x10000 &+ ((high & 0x3FF) &<< 10 | low & 0x3FF)
  }

  private mutating func decodeUTF8() throws(StringsFault) -> UInt32 {
    guard let (character, length) = UTF8Text.decode(bytes, at: next) else {
      throw StringsFault(reason: .notUTF8, place: place, character: Self.byte(bytes, next) ?? 0)
    }
    next &+= length
    return character
  }
}
