/// Why a payload does not take what it is given. Small, for it is thrown through the
/// calls of programs that set a dozen keys.
struct PayloadFault: Error {
  enum Reason: UInt8 {
    /// The value, or an element of it, is not UTF-8.
    case text
    /// The name of a custom key is not.
    case name
    /// There is no value, or no length that a value can have.
    case missing
    case duplicate
    /// "aps", as a custom key.
    case reserved
    /// The alert is text already, so it has no parts; or the other way round.
    case alertIsText, alertHasParts
    /// NaN, or infinite.
    case notANumber
    /// Of a volume: not from 0 to 1.
    case range
    case json
    case tooLarge
    case memory
    // Of the call itself.
    case noPayload, noName, unknownKey, otherKind
  }

  var reason: Reason
  /// What is wrong with JSON.
  var json = JSONFault.Reason.end
  /// In an array: which element.
  var element: Int32 = -1
  /// The first byte that is wrong, counted from 0.
  var offset = 0

  init(_ reason: Reason, at offset: Int = 0) {
    self.reason = reason
    self.offset = offset
  }
}

/// A payload is longer than it may be.
struct PayloadWriteFault: Error {
  var size: Int
  /// What is left where the text may be shortened, and was, to nothing.
  var shortest: Int?
}
