/// The result of a read.
enum Reading {
  case bytes(Int)
  /// Nothing is there now.
  case nothing
  /// The peer sent close_notify, or at least ended its stream.
  case end
  /// The connection broke: a reset, an alert, invalid data. `failure` has the details.
  case broken
}

/// The result of a write.
enum Writing {
  case bytes(Int)
  /// The peer takes no more now.
  case full
  /// The peer must be read first (a renegotiation).
  case needsReading
  /// The connection broke, as with reading.
  case broken
}

/// How far a connection has been made.
enum Progress {
  case open
  /// To be continued when the descriptor is ready, or at that time.
  case waits(Readiness, until: Deadline)
}
