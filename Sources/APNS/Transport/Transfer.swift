/// What came of looking into a connection.
enum Reading {
  case bytes(Int)
  /// Nothing there now.
  case nothing
  /// The peer said goodbye, or at least ended its stream.
  case end
  /// It broke: a reset, an alert, noise. The connection is asked for the failure.
  case broken
}

/// What came of trying to write.
enum Writing {
  case bytes(Int)
  /// The peer takes no more now.
  case full
  /// It has to be read from first (a renegotiation).
  case needsReading
  /// It broke, as in reading.
  case broken
}

/// How far the making of a connection has come.
enum Progress {
  case open
  /// To be taken further when the descriptor is ready, or at that time.
  case waits(Readiness, until: Deadline)
}
