import CAPNS

/// The application's interface to a session of either protocol. If a call can wait, its
/// milliseconds limit for how long; negative means the session's own timeouts. In an application's
/// event loop no call waits: `process` continues the work of the others.
protocol ProviderSession: ~Copyable {
  /// A notification as the session's protocol carries it.
  associatedtype Notification

  var options: SessionOptions { get }
  /// Nil without a log.
  var log: UnsafeMutablePointer<SessionLog>? { get }

  /// Checks a caller's notification. Its payload may have no bytes yet, only a count. With `isPassed`
  /// the last check that succeeded was of this payload.
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
    payloadCount: Int, isPassed: Bool
  ) throws(Failure) -> Notification

  /// How many bytes the payload of such a notification may have.
  func maxPayload(_ given: UnsafePointer<apns_notification_t>) -> Int

  /// For the option `checks`.
  var passed: PassedPayload { get set }

  /// Checks it against its payload's traits, for the option `checks`.
  func check(_ notification: Notification, _ traits: PayloadTraits) throws(Failure)
  /// The same if the last check that succeeded was of its payload.
  mutating func checkPassed(_ notification: Notification) throws(Failure)

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
  /// The outcome of the notification queued last stays for `takePushed`.
  mutating func keepPush()

  mutating func connect() throws(Failure)
  /// Writes all waiting notifications.
  mutating func flush() throws(Failure)
  /// Stops sending the notification with that identifier, or all for 0. Returns how many are
  /// resolved by that.
  mutating func cancel(_ identifier: UInt32) -> Int
  /// For a call that does not wait: reads what has come and resolves what is due.
  mutating func readNow() throws(Failure)
  /// Something waits to be written and cannot be.
  var waitsToWrite: Bool { get }
  /// Writes the peer, as "host:port".
  func describePeer(in message: inout Message)

  /// The event loop's descriptor, the latest time for it to call `process`, and the descriptor for
  /// other threads to write to; -1, `max` and -1 for a session that waits by itself.
  var descriptor: CInt { get }
  var due: Nanoseconds { get }
  var wakeup: CInt { get }

  /// The reason of the last unknown outcome without a response.
  var lastEnd: Message { get }
  /// Writes a service's response into an event.
  func reportResponse(_ response: ServiceResponse, in event: inout apns_event_t)
  /// Unresolved notifications.
  var unresolved: Int { get }
  /// Fills in the counts for the caller.
  func count(into stats: inout apns_session_stats_t)
  /// Brings the metrics up to date. They belong to the session, which keeps counting in them.
  mutating func measure() -> UnsafePointer<apns_session_metrics_t>
  /// The connections belong to the parent process: this one must not send a byte on them.
  mutating func silence()

  // MARK: For the driver and an application's event loop

  var isClosed: Bool { get set }
  /// No more notifications are taken; the session only reads what still comes.
  var isShuttingDown: Bool { get }
  var standing: StandingWork { get set }
  /// Outcomes that can be taken.
  var waitingOutcomes: Int { get }
  mutating func takeOutcome() -> WaitingOutcome?
  /// Handles outcomes that the caller does not take.
  var untaken: UnsafeMutablePointer<Untaken> { get }

  /// Ends the connections in the protocol's way, and what is unresolved then. A call may wait until
  /// `limit`; false if that is over: the next call continues.
  mutating func end(by deadline: Nanoseconds, waitingUntil limit: Nanoseconds) -> Bool

  var now: Nanoseconds { get }
  /// The current pass was cut short, so the next one comes immediately.
  var isCutShort: Bool { get set }
  /// The last failure of a connection in this pass.
  var lastFailure: LastFailure { get set }
  var connectionCount: Int { get }
  /// The connection to serve first. Changes when a pass runs out of time, so that none starves.
  var firstTurn: Int { get set }
  /// When the call that takes a notification began to wait; 0 when it did not. The write that
  /// follows shares the same time.
  var waitsSince: Nanoseconds { get set }

  /// A call begins to work. It may get a deadline.
  mutating func begin(_ deadline: inout Nanoseconds)
  /// One pass: takes every connection as far as possible without waiting, by `takeTurns`, and resolves
  /// what has ended. False: another pass comes at once.
  mutating func serve(_ goal: SessionGoal, by deadline: Nanoseconds) -> Bool
  /// Takes one connection towards the goal, as far as possible without waiting.
  mutating func advance(_ number: Int, _ goal: SessionGoal) throws(Failure)
  /// The remaining connections miss this pass.
  func isOver(_ deadline: Nanoseconds) -> Bool
  func isReached(_ goal: SessionGoal) -> Bool
  /// No connection makes progress.
  var isStuck: Bool { get }
  /// Why a call ran out of time.
  var outOfTime: Failure { get }
  /// Waits for the network, until something else is due or the deadline has passed.
  mutating func wait(for goal: SessionGoal, until deadline: Nanoseconds, _ now: Nanoseconds)
  /// Makes the event loop wait so.
  mutating func arm(until deadline: Nanoseconds)

  var hasPushed: Bool { get }
  mutating func takePushed() -> WaitingOutcome?
  /// The identifier of the notification that is pushed.
  var pushIdentifier: UInt32 { get set }
  /// The next notification's, which is never 0.
  var nextIdentifier: UInt32 { get }
  /// No notification has to have its end before; `max`: none ever.
  var nextDeadline: Nanoseconds { get }
  /// Only time passes.
  mutating func rest(until time: Nanoseconds)

  /// Takes note of what the event loop's descriptor found.
  mutating func look()
  /// Makes the event loop call again immediately.
  mutating func wake()
}

extension ProviderSession where Self: ~Copyable {
  /// Over the binary interface no outcome has one.
  func reportResponse(_ response: ServiceResponse, in event: inout apns_event_t) {}

  /// The binary interface has neither topics nor push types.
  func check(_ notification: Notification, _ traits: PayloadTraits) throws(Failure) {}
  func checkPassed(_ notification: Notification) throws(Failure) {}

  /// Writes after something was queued; if more is to come, only whole records. A failure here is
  /// not a failure of the send: the notifications stay queued, and the next call meets the failure
  /// again.
  @inline(__always)
  mutating func writeTaken(isMore: Bool) {
    if isMore, !hasFullRecord { return awaitMore() }
    try? write(all: !isMore)
  }
}
