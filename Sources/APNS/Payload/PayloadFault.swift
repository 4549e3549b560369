/// Why a payload does not accept a value. It is small because it is thrown through calls
/// that programs make a dozen times for each payload.
struct PayloadFault: Error {
  enum Reason: UInt8 {
    /// The value, or an element of it, is not UTF-8.
    case text
    /// The name of a custom key is not UTF-8.
    case name
    /// The value is missing, or its length is impossible.
    case missing
    case duplicate
    /// A custom key is named "aps".
    case reserved
    /// The alert is already text, so it cannot have parts, or the other way round.
    case alertIsText, alertHasParts
    /// The number is NaN or infinite.
    case notANumber
    /// The volume is not from 0 to 1.
    case range
    case json
    case tooLarge
    case memory
    // Faults of the call itself.
    case noPayload, noName, unknownKey, otherKind
    /// JSON of another type.
    case notAnObject, notLocalized
  }

  var reason: Reason
  /// The error of invalid JSON.
  var json = JSONFault.Reason.end
  /// The index of the element, for an array.
  var element: Int32 = -1
  /// The offset of the first wrong byte, from 0.
  var offset = 0

  init(_ reason: Reason, at offset: Int = 0) {
    self.reason = reason
    self.offset = offset
  }
}

/// A payload is longer than allowed.
struct PayloadWriteFault: Error {
  var size: Int
  /// The size that remains when the text may be shortened and nothing of it is left.
  var minimum: Int?
}
