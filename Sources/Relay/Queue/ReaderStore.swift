/// The places of readers of outcomes. No outcome behind a reader's place is trimmed.
package protocol ReaderStore: AnyObject, Sendable {
  /// The number of the last outcome that a reader has read; nil if there is no reader with this name.
  func reader(_ name: String, app: String) throws -> String?
  /// Moves a reader if it still is at `old`; false otherwise. nil as a place: the reader begins, or
  /// ends.
  func moveReader(_ name: String, app: String, from old: String?, to number: String?) throws -> Bool
  /// The number of the newest outcome; "0" without one.
  func lastOutcome(app: String) throws -> String
}
