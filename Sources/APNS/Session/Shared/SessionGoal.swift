/// What a call wants to be true before it returns.
enum SessionGoal {
  /// Some connection is open.
  case connection
  /// Whole records are handed over, as far as that needs no waiting.
  case records
  /// Everything that waits is written.
  case writing
  /// The same, except for what may not connect yet while other connections are open.
  case sending
  /// What the open connections carry is finished; no connection is made for the rest.
  case leaving
  /// A notification of so many bytes has room.
  case room(Int)
  /// An outcome can be taken, or there will be none.
  case outcome
  /// The notification of the push that is under way has its end.
  case push
  /// Every notification has its end.
  case ends
}
