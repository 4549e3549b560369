/// The result of a read.
enum Reading {
  case bytes(Int)
  /// Nothing is there now.
  case nothing
  /// The peer said goodbye, or at least ended its stream.
  case end
  /// The connection broke: a reset, an alert, invalid data. It can be asked for the failure.
  case broken
}

/// The result of a write.
enum Writing {
  case bytes(Int)
  /// The peer takes no more now.
  case full
  /// It has to be read from first (a renegotiation).
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
