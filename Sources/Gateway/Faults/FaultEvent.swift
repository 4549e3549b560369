/// What is said to the handlers of a connection beside what comes over it.
enum FaultEvent {
  /// Other faults are in force.
  case changed
  /// The connection is to end, here and now.
  case cut(Faults.Ending)
  /// Nothing more is to be read.
  case stall(Stall)
  /// A stall is over.
  case woken
}

/// Why a connection is not read.
enum Stall {
  /// By the byte it has come to.
  case bytes
  /// By how many notifications were accepted.
  case notifications
  /// In the place of an end.
  case end
}
