import BinaryServer

/// An event for the handlers of a connection, beside the bytes that come over it.
/// `ReadingResumed` tells them that a stall is over.
enum FaultEvent {
  /// Other faults are in force.
  case changed
  /// The connection closes now.
  case cut(Faults.Ending)
  /// Nothing more is read.
  case stall(Stall)
}

/// Why a connection is not read.
enum Stall {
  /// It has read so many bytes.
  case bytes
  /// It has accepted so many notifications.
  case notifications
  /// It stalls in place of closing.
  case end
}
