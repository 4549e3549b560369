/// The condition for a call to return.
enum SessionGoal {
  /// Some connection is open.
  case connection
  /// Whole records are handed over, as far as that needs no waiting.
  case records
  /// Everything that waits is written.
  case writing
  /// The same, except for notifications that may not connect yet while other connections are open.
  case sending
  /// Notifications on open connections are finished; no connection is made for the rest.
  case closing
  /// A notification of this size in bytes has room.
  case room(Int)
  /// An outcome is ready, or none will come.
  case outcome
  /// The current push's notification is resolved.
  case push
  /// Every notification is resolved.
  case ends
}
