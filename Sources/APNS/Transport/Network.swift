/// A session's interface to the outside: connections to its gateway, each under a number, and a
/// clock. No call waits, except `wait` and `pause`.
protocol Network: ~Copyable {
  /// Nanoseconds that only grow.
  var now: Nanoseconds { get }

  /// The same for a fifth of the time it takes: some ms late, and never ahead.
  var lately: Nanoseconds { get }

  mutating func random() -> UInt64

  /// Begins the connection of that number, which must be open by the deadline. A standby goes to
  /// the same address as the last one, without resolving the name.
  mutating func open(_ connection: Int, isStandby: Bool, by deadline: Nanoseconds) throws(Failure)

  /// Continues opening. After a failure the connection must be dropped.
  mutating func advance(_ connection: Int) throws(Failure) -> Opening

  mutating func read(_ connection: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading
  mutating func write(_ connection: Int, _ bytes: UnsafeRawBufferPointer) -> Writing

  /// Why `read` or `write` failed; valid until the connection is dropped.
  func failure(_ connection: Int) -> Failure

  /// There may be something to read.
  mutating func isReadable(_ connection: Int) -> Bool

  /// Closes writing; the connection can still be read from.
  mutating func halfClose(_ connection: Int)

  /// Ends the connection, if there is one.
  mutating func drop(_ connection: Int)

  /// Sends nothing more on any connection: they belong to another process.
  mutating func silence()

  /// Makes the next `wait` end when the connection is ready for that.
  mutating func watch(_ connection: Int, for readiness: Readiness)

  /// Takes reading back from what the connection is watched for.
  mutating func ignoreUnread(_ connection: Int)

  /// Waits until something watched is ready, or until that time; then nothing is watched any more.
  mutating func wait(until time: Nanoseconds)

  /// For a session that never waits: takes note of what is ready now, as `wait` does.
  mutating func look()

  /// For a session that never waits: watched descriptors, and that time, make the application's
  /// event loop call again. Then the list of watched descriptors is empty.
  mutating func arm(until time: Nanoseconds)

  /// For a session that never waits: makes the event loop call again immediately.
  mutating func wake()

  /// Does nothing for that long.
  mutating func pause(_ time: Nanoseconds)

  /// The readiness from the last `wait`; reported once.
  mutating func readiness(_ connection: Int) -> Readiness

  /// For a session that never waits: the descriptor for the application's event loop, the latest
  /// time of its next call, and the descriptor that another thread writes to.
  var descriptor: CInt { get }
  var due: Nanoseconds { get }
  var wakeup: CInt { get }

  /// The open connection resumed a session of an earlier one.
  func isResumed(_ connection: Int) -> Bool

  /// Appends how the peer of an open connection was reached.
  func append(wayTo connection: Int, to message: inout Message)

  /// How connections were made so far.
  var handshakes: Handshakes { get }

  /// Appends the gateway's name to a message.
  func append(to message: inout Message)

  /// Appends what to try when no connection can be made, if there is advice.
  func appendAdvice(to message: inout Message)
}

extension Network where Self: ~Copyable {
  func appendAdvice(to message: inout Message) {}
  func isResumed(_ connection: Int) -> Bool { false }
  func append(wayTo connection: Int, to message: inout Message) {}

  var descriptor: CInt { -1 }
  var due: Nanoseconds { .max }
  var wakeup: CInt { -1 }

  var handshakes: Handshakes { Handshakes() }

  var lately: Nanoseconds { now }
}

/// How far a connection has been opened.
enum Opening {
  case open
  case waits(Readiness, until: Nanoseconds)
}
