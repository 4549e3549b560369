import CAPNS

/// What a program does with a session, whichever protocol it speaks. Where a call can wait, its
/// milliseconds say for how long; negative stands for the session's own timeouts.
protocol ProviderSession: ~Copyable {
  /// A notification as the session's protocol carries it.
  associatedtype Notification

  var options: SessionOptions { get }
  /// Nil if nobody listens.
  var log: UnsafeMutablePointer<SessionLog>? { get }
  /// It takes no more notifications.
  var isClosing: Bool { get }

  /// Checks a caller's notification. Its payload may have no bytes yet, only a count.
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer, payloadCount: Int
  ) throws(Failure) -> Notification

  /// How many bytes the payload of such a notification may have.
  func payloadMost(_ given: UnsafePointer<apns_notification_t>) -> Int

  /// Checks it against what its payload says of the push, for the option `checks`.
  func check(_ notification: Notification, _ traits: PayloadTraits) throws(Failure)

  /// Takes a notification and returns its identifier. `deadline` is its own, in ms as the caller gives
  /// it. `payload` gets the place of the payload, with room for the count, and returns that place or
  /// another that holds the bytes.
  mutating func take(
    _ notification: Notification, payloadCount: Int, deadline: Int32,
    userData: UnsafeMutableRawPointer?,
    payload: (UnsafeMutableRawPointer) -> UnsafeRawBufferPointer
  ) throws(Failure) -> UInt32

  /// The deadline by the session's option of what is taken now: those that are taken at once share one
  /// reading of the clock. 0: it has to be read.
  var usualDue: Nanoseconds { get set }

  /// The notifications that wait fill a record.
  var hasFullRecord: Bool { get }
  /// Writes what waits: all of it, or whole records as long as the peer takes them.
  mutating func write(all: Bool) throws(Failure)

  /// When the push that is under way has to end, its taking included; `max`: there is none.
  var pushEnds: Nanoseconds { get set }
  /// A push has not returned its outcome yet.
  var isPushing: Bool { get }
  /// The time so many ms from now.
  func deadline(milliseconds: Int32) -> Nanoseconds
  /// The outcome of the one that was taken last is for a push.
  mutating func push()
  /// The outcome of the push, in time or as it then is; and why there is no other.
  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome

  mutating func connect() throws(Failure)
  /// Writes everything that waits.
  mutating func flush() throws(Failure)
  /// Waits until every notification has its end.
  mutating func drain(milliseconds: Int32) throws(Failure)
  /// Writes the notification with that identifier, or any for 0, no more. Returns how many have their
  /// end by that.
  mutating func cancel(_ identifier: UInt32) -> Int
  /// What a call other than `process` found is told to an event loop.
  mutating func tellOutcomes()
  /// The next outcome; nil when none came in time.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure) -> WaitingOutcome?
  /// False when this call may wait no longer: the next call continues.
  mutating func close(milliseconds: Int32) -> Bool
  /// Writes whom the session pushes to, as "host:port".
  func describePeer(in message: inout Message)

  /// For a program's event loop: does what can be done now. False when the session has closed.
  mutating func process() throws(Failure) -> Bool
  /// What was taken waits for more.
  mutating func awaitMore()
  /// What the event loop watches, when it has to call `process` at the latest, and what another
  /// thread writes to; -1, `max` and -1 for a session that waits by itself.
  var descriptor: CInt { get }
  var due: Nanoseconds { get }
  var bell: CInt { get }

  /// Why the last outcome is unknown that was so without an answer.
  var lastEnd: Message { get }
  /// Notifications without an end.
  var unresolved: Int { get }
  /// Fills in the counts for the caller.
  func count(into stats: inout apns_session_stats_t)
  /// Brings the metrics up to date. They are the session's, which goes on counting in them.
  mutating func measure() -> UnsafePointer<apns_session_metrics_t>
  /// The connections belong to the parent process: this one must not send a byte on them.
  mutating func leaveToParent()
}

extension ProviderSession where Self: ~Copyable {
  /// The binary interface has neither topics nor push types.
  func check(_ notification: Notification, _ traits: PayloadTraits) throws(Failure) {}

  /// Writes after something was taken; if more is to come, only what fills a record. A failure here
  /// is not a failure of the send: what was taken stays, and the next call meets the failure again.
  @inline(__always)
  mutating func writeTaken(isMore: Bool) {
    if isMore, !hasFullRecord { return awaitMore() }
    try? write(all: !isMore)
  }
}
