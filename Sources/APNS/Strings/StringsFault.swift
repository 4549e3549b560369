/// Why a strings file cannot be read, and where.
struct StringsFault: Error {
  enum Reason {
    case notUTF8, notUTF16, unpairedSurrogate, nulCharacter
    case unknownEscape, unicodeEscape, octalEscape
    case openString, openComment, openBrace
    case noKey, noEqualSign, noValue, noText, noSemicolon, behindEnd
    case binaryList, xmlList, tooLarge, outOfMemory
  }

  var reason: Reason
  /// Where it is, or where what was not closed begins.
  var place: TextPlace
  /// The character that is to blame, where it is one.
  var character: UInt32 = 0
}
