import CAPNS

/// The application's interface to a session of either protocol. If a call can wait, its
/// milliseconds limit for how long; negative means the session's own timeouts.
protocol ProviderSession: ~Copyable {
  /// A notification as the session's protocol carries it.
  associatedtype Notification

  var options: SessionOptions { get }
  /// Nil without a log.
  var log: UnsafeMutablePointer<SessionLog>? { get }
  /// It takes no more notifications.
  var isClosing: Bool { get }

  /// Checks a caller's notification. Its payload may have no bytes yet, only a count.
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer, payloadCount: Int
  ) throws(Failure) -> Notification

  /// How many bytes the payload of such a notification may have.
  func payloadMost(_ given: UnsafePointer<apns_notification_t>) -> Int

  /// Checks it against its payload's traits, for the option `checks`.
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
  /// Writes waiting notifications: all, or whole records as long as the peer takes them.
  mutating func write(all: Bool) throws(Failure)

  /// When the current push must return, its queueing included; `max`: no push.
  var pushEnds: Nanoseconds { get set }
  /// A push has not returned its outcome yet.
  var isPushing: Bool { get }
  /// The time `milliseconds` from now.
  func deadline(milliseconds: Int32) -> Nanoseconds
  /// The outcome of the notification queued last is for a push.
  mutating func push()
  /// The outcome of the push, in time or as it then is; and why there is no other.
  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome

  mutating func connect() throws(Failure)
  /// Writes all waiting notifications.
  mutating func flush() throws(Failure)
  /// Waits until every notification is resolved.
  mutating func drain(milliseconds: Int32) throws(Failure)
  /// Stops sending the notification with that identifier, or all for 0. Returns how many are
  /// resolved by that.
  mutating func cancel(_ identifier: UInt32) -> Int
  /// Notifies an event loop of outcomes that a call other than `process` found.
  mutating func tellOutcomes()
  /// The next outcome; nil when none came in time.
  mutating func nextOutcome(milliseconds: Int32) throws(Failure) -> WaitingOutcome?
  /// False when this call may wait no longer: the next call continues.
  mutating func close(milliseconds: Int32) -> Bool
  /// Writes the peer, as "host:port".
  func describePeer(in message: inout Message)

  /// For an application's event loop: does what can be done now. False if the session has closed.
  mutating func process() throws(Failure) -> Bool
  /// Queued notifications wait for more.
  mutating func awaitMore()
  /// The event loop's descriptor, the latest time for it to call `process`, and the descriptor for
  /// other threads to write to; -1, `max` and -1 for a session that waits by itself.
  var descriptor: CInt { get }
  var due: Nanoseconds { get }
  var bell: CInt { get }

  /// The reason of the last unknown outcome without a response.
  var lastEnd: Message { get }
  /// Writes a service's response into an event.
  func tellAnswer(_ answer: ServiceAnswer, in event: inout apns_event_t)
  /// Unresolved notifications.
  var unresolved: Int { get }
  /// Fills in the counts for the caller.
  func count(into stats: inout apns_session_stats_t)
  /// Brings the metrics up to date. They belong to the session, which keeps counting in them.
  mutating func measure() -> UnsafePointer<apns_session_metrics_t>
  /// The connections belong to the parent process: this one must not send a byte on them.
  mutating func leaveToParent()
}

extension ProviderSession where Self: ~Copyable {
  /// Over the binary interface no outcome has one.
  func tellAnswer(_ answer: ServiceAnswer, in event: inout apns_event_t) {}

  /// The binary interface has neither topics nor push types.
  func check(_ notification: Notification, _ traits: PayloadTraits) throws(Failure) {}

  /// Writes after something was queued; if more is to come, only whole records. A failure here is
  /// not a failure of the send: the notifications stay queued, and the next call meets the failure
  /// again.
  @inline(__always)
  mutating func writeTaken(isMore: Bool) {
    if isMore, !hasFullRecord { return awaitMore() }
    try? write(all: !isMore)
  }
}
