import CAPNS

/// The work of a session in an event loop between calls, and the reports that it still must make.
struct StandingWork {
  /// The goal of `process`.
  var goal = SessionGoal.outcome
  /// Why the last connection could not be made, until the caller gets it.
  var unreportedFailure = LastFailure()
  /// How many of the outcomes that wait or gave way `process` has left to the caller, who may take
  /// them any time.
  var knownOutcomes = 0
  /// The option `on_outcome` got some since the caller last asked for one.
  var hasDelivered = false
  /// When the session must be closed; nil: it is open.
  var closeBy: Nanoseconds?
  /// A call has worked as long as one may. Other calls work no more before the next `process`, so
  /// that a program that makes many is not kept from its other work.
  var isSpent = false

  /// The caller took an outcome.
  mutating func tookOutcome() { knownOutcomes = max(0, knownOutcomes &- 1) }
}

extension ProviderSession where Self: ~Copyable {
  /// It takes no more notifications.
  var isClosing: Bool { isClosed || isShuttingDown || standing.closeBy != nil }

  /// Does what can be done now. False if the session has closed. Throws the failure of a
  /// connection, once, and continues automatically.
  mutating func process() throws(Failure) -> Bool {
    look()
    standing.isSpent = false
    if let closeBy = standing.closeBy { return !close(by: closeBy) }
    if isClosed { return false }
    let goal = standing.goal
    if try run(until: goal, by: nil) {
      standing.goal = .outcome
      // The usual goal needs more than a connection or some room.
      if case .connection = goal { try run(until: .outcome, by: nil) }
    }
    standing.knownOutcomes = untakenOutcomes
    try reportFailure()
    return true
  }

  /// Waits until every notification is resolved, or begins to work for that.
  mutating func drain(milliseconds: Int32) throws(Failure) {
    if options.neverWaits {
      guard try pursue(.ends) else { throw .notYet }
    } else {
      try run(until: .ends, by: deadline(milliseconds: milliseconds))
    }
  }

  /// Waits for the push's outcome. Without one in time, the notification is cancelled, or its
  /// current state is returned.
  @inline(never)
  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome {
    let deadline = pushEnds
    let limit = options.limit(deadline, from: self.deadline(milliseconds: 0))
    while !hasPushed {
      do throws(Failure) {
        try run(until: .push, by: limit)
      } catch {
        reason = Message()
        error.append(to: &reason)
        // Retrying cannot fix any other error.
        guard error.status.isRetryable else { break }
        let now = self.deadline(milliseconds: 0)
        if now >= deadline { break }
        if now >= limit { throw .notYet }
        rest(until: min(limit, now &+ 10_000_000, nextDeadline))
      }
    }
    if !hasPushed { _ = cancel(pushIdentifier) }
    guard let outcome = takePushed() else { throw .notYet }
    return outcome
  }

  /// The deadline of a notification that is queued now with a `deadline_ms` of `milliseconds`.
  @inline(__always)
  mutating func due(within milliseconds: Int32) -> Nanoseconds {
    milliseconds == 0 && usualDue != 0 ? usualDue : readDue(within: milliseconds)
  }

  @inline(never)
  private mutating func readDue(within milliseconds: Int32) -> Nanoseconds {
    if milliseconds < 0 { return .max }
    if milliseconds > 0 { return deadline(milliseconds: milliseconds) }
    usualDue = options.deadline == .max ? .max : deadline(milliseconds: 0) &+ options.deadline
    return usualDue
  }

  /// Queued notifications wait for more. If the application sends none, `process` writes them.
  @inline(__always)
  mutating func awaitMore() {
    usualDue = 0
    if options.neverWaits { wake() }
  }

  /// A call other than `process` may have found outcomes. Programs take them after `process`.
  @inline(__always)
  mutating func reportOutcomes() {
    deliver()
    guard options.neverWaits, untakenOutcomes > standing.knownOutcomes else { return }
    standing.knownOutcomes = untakenOutcomes
    wake()
  }

  /// Includes outcomes that gave way, so that each new one increases it.
  private var untakenOutcomes: Int {
    waitingOutcomes &+ Int(truncatingIfNeeded: untaken.pointee.forgotten)
  }

  /// Works for the goal from now on; true if it is reached already.
  @inline(never)
  mutating func pursue(_ goal: SessionGoal) throws(Failure) -> Bool {
    // Resolving all notifications makes room too.
    var isOwn = true
    if case .room = goal, case .ends = standing.goal { isOwn = false }
    if isOwn { standing.goal = goal }
    let isReached = try run(until: goal, by: nil)
    if isReached, isOwn { standing.goal = .outcome }
    reportOutcomes()
    return isReached
  }

  /// Begins to connect; throws what prevented a connection, or that it takes longer.
  mutating func connectOnce() throws(Failure) {
    if case .outcome = standing.goal { standing.goal = .connection }
    if try run(until: .connection, by: nil) {
      if case .connection = standing.goal { standing.goal = .outcome }
      // Nothing was written towards that goal.
      awaitMore()
      return
    }
    reportOutcomes()
    try reportFailure()
    throw .notYet
  }

  @inline(never)
  private mutating func reportFailure() throws(Failure) {
    guard let failure = standing.unreportedFailure.failure else { return }
    standing.unreportedFailure.forget()
    throw failure
  }
}
