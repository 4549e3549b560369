/// How the service ended a connection in a recording.
struct RecordedEnd: Sendable {
  enum Manner: Sendable {
    case goAway(error: UInt8, reason: String?)
    case close(Faults.Ending)
  }

  /// Milliseconds since the recording's first connection.
  var at: Int
  var manner: Manner
  /// How many milliseconds it refused connections afterwards.
  var refusal = 0
}
