/// What a session asks of the world: connections to its gateway, each on a line of
/// its own, and a clock. No call waits, but `wait`.
protocol Network: ~Copyable {
  /// Nanoseconds that only grow.
  var now: Nanoseconds { get }

  /// Its seconds, as far as they are known without much ado: never ahead of `now`.
  var second: Seconds { get }

  mutating func random() -> UInt64

  /// Begins a connection on a line that has none, to be open by the deadline. A spare
  /// one goes where the last one went, without a name looked up.
  mutating func open(_ line: Int, isSpare: Bool, by deadline: Nanoseconds) throws(Failure)

  /// Takes the opening further; after a failure the line is to be dropped.
  mutating func advance(_ line: Int) throws(Failure) -> Opening

  mutating func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading
  mutating func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing

  /// Why `read` or `write` found the line broken; until it is dropped.
  func failure(_ line: Int) -> Failure

  /// Something may be there to be read.
  func hasNews(_ line: Int) -> Bool

  /// Says that nothing more will come; the line may still be read from.
  mutating func sayGoodbye(_ line: Int)

  /// Ends the line's connection, if it has one.
  mutating func drop(_ line: Int)

  /// Says nothing more on any line: the connections are another process's.
  mutating func silence()

  /// Has the next `wait` end when the line is ready for that.
  mutating func watch(_ line: Int, for readiness: Readiness)

  /// Waits until something watched is ready, or that time; what was watched is forgotten.
  mutating func wait(until time: Nanoseconds)

  /// Does nothing for so many ns.
  mutating func pause(_ time: Nanoseconds)

  /// What the last `wait` found the line ready for; told once.
  mutating func readiness(_ line: Int) -> Readiness

  /// The gateway's name, at the end of a message.
  func append(to message: inout Message)

  /// What to try instead where no connection comes about, if anything, behind that.
  func appendAdvice(to message: inout Message)
}

extension Network where Self: ~Copyable {
  func appendAdvice(to message: inout Message) {}

  var second: Seconds { UInt32(truncatingIfNeeded: now / 1_000_000_000) }
}

/// How far the opening of a line has come.
enum Opening {
  case open
  case waits(Readiness, until: Nanoseconds)
}
