/// Why a strings file cannot be read, and where the fault is.
struct StringsFault: Error {
  enum Reason {
    case notUTF8, notUTF16, unpairedSurrogate, nulCharacter
    case unknownEscape, unicodeEscape, octalEscape
    case openString, openComment, openBrace
    case noKey, noEqualSign, noValue, noText, noSemicolon, behindEnd
    case binaryList, xmlList, catalog, tooLarge, outOfMemory
  }

  var reason: Reason
  /// The place of the fault; for something that was not closed, the place where it begins.
  var place: TextPlace
  /// The character at fault, for faults that have one.
  var character: UInt32 = 0
}
