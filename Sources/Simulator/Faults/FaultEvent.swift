import BinaryServer

/// An event for a connection's handlers. `ReadingResumed` ends a stall.
enum FaultEvent {
  case changed
  /// The connection closes now.
  case cut(Faults.Ending)
  /// The connection ends as in a recording.
  case recordedEnd(RecordedEnd)
  /// The connection is not read any more.
  case stall(Stall)
}

/// Why a connection is not read.
enum Stall {
  /// It has reached the number of bytes.
  case bytes
  /// It has reached the number of accepted notifications.
  case notifications
  /// It stalls instead of closing.
  case end
}
