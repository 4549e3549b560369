import CAPNS

/// Works towards a caller's goal: takes every connection as far as possible, again and again, until the
/// goal is reached. Nothing else waits.
extension ProviderSession where Self: ~Copyable {
  /// Works until the goal is reached or the deadline has passed. Nil means the session's own
  /// timeouts. A session that never waits does what it can at once; false: the goal is not reached
  /// yet.
  @inline(never)
  @discardableResult
  mutating func run(until goal: SessionGoal, by given: Nanoseconds? = nil) throws(Failure) -> Bool {
    usualDue = 0
    if standing.isSpent { return isReached(goal) }
    var deadline = min(given ?? .max, pushEnds)
    var limit = WaitLimit(options)
    begin(&deadline)
    while true {
      isCutShort = false
      if !serve(goal, by: deadline) { continue }
      if options.neverWaits { return armLoop(goal, until: deadline) }
      if isReached(goal) { return true }
      // One connection's failure reaches the caller only if no other makes progress.
      if lastFailure.isThere, isStuck, let failure = lastFailure.failure { throw failure }
      if deadline == .max { deadline = self.now &+ options.sendTime }
      let now = now
      limit.apply(to: &deadline, at: now)
      if now >= deadline { throw outOfTime }
      wait(for: goal, until: deadline, now)
    }
  }

  /// The application's event loop waits, and calls `process`.
  @inline(never)
  private mutating func armLoop(_ goal: SessionGoal, until time: Nanoseconds) -> Bool {
    if lastFailure.isThere, isStuck, let failure = lastFailure.failure {
      standing.unreportedFailure.note(failure)
    }
    if isCutShort { standing.isSpent = true }
    arm(until: time)
    return isReached(goal)
  }

  /// Serves each connection once.
  @inline(__always)
  mutating func takeTurns(_ goal: SessionGoal, by deadline: Nanoseconds) {
    lastFailure.forget()
    let first = firstTurn
    for turn in 0..<connectionCount {
      let number = (first &+ turn) % connectionCount
      if turn > 0, isOver(deadline) {
        // The others are served when the event loop calls again, immediately.
        if options.neverWaits { firstTurn = number }
        isCutShort = true
        return
      }
      do throws(Failure) {
        try advance(number, goal)
      } catch {
        lastFailure.note(error)
      }
    }
  }

  @inline(__always)
  mutating func begin(_ deadline: inout Nanoseconds) {}

  /// How long a call of a session that never waits works before others are served.
  static var slice: Nanoseconds { 1_000_000 }

  func deadline(milliseconds: Int32) -> Nanoseconds { now &+ options.time(milliseconds) }

  /// When a call that has already waited must return.
  var restOfWait: Nanoseconds? {
    waitsSince == 0
      ? nil
      : options.limit(waitsSince &+ options.sendTime, from: waitsSince)
  }

  mutating func close(milliseconds: Int32) -> Bool {
    close(by: deadline(milliseconds: milliseconds))
  }

  /// Closes the session gracefully. Notifications without a response by the deadline become unknown.
  /// False if this call may wait no longer: the next call continues.
  @discardableResult
  mutating func close(by deadline: Nanoseconds) -> Bool {
    guard !isClosed else { return true }
    var deadline = deadline
    if options.neverWaits {
      // The first call's deadline counts.
      deadline = standing.closeBy ?? deadline
      standing.closeBy = deadline
      standing.goal = .closing
    }
    guard end(by: deadline, waitingUntil: options.limit(deadline, from: now)) else { return false }
    isClosed = true
    log?.at(now).closed(self)
    return true
  }
}
