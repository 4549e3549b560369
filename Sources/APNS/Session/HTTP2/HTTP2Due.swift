/// Computes from the session's state when it must act, before each wait and after each call of a
/// session that never waits. Every part with a deadline adds it here, so no call can forget one.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// When there is something to do that no connection will report; `max`: never. `goal` is the
  /// session's current goal.
  @inline(never)
  func nextDue(_ goal: SessionGoal, _ now: Nanoseconds) -> Nanoseconds {
    if isCutShort { return 0 }
    var due = min(retryDue, tokenDue, outbox.pointee.nextDeadline)
    var mayOpen = false
    for number in 0..<connectionCount {
      let connection = connections + number
      switch connection.pointee.phase {
      case .closed:
        if number != apart {
          mayOpen = true
        } else if isMissing(number, goal) {
          due = min(due, reconnects.earliest)
        }
      case .opening: due = min(due, connection.pointee.link.opening.until)
      case .open:
        if connection.pointee.isUnread { return 0 }
        due = min(due, connection.pointee.link.stallDue(timeout: options.writeTimeout))
        due = min(due, askDue(connection), responseDue(connection))
        if hadExtra, isIdleExtra(connection) { return 0 }
        if !outbox.pointee.hasNothingToSend {
          due = min(due, trialDue(connection))
          // After that time, waiting would not help.
          let held = heldDue(connection)
          if held > now { due = min(due, held) }
        }
      }
    }
    if mayOpen, needsConnection(goal) { due = min(due, reconnects.earliest) }
    return due
  }

  /// When a retry may be sent. A retry that was due when the pass began waits for a free stream;
  /// one added since then has not been tried yet.
  private var retryDue: Nanoseconds {
    @inline(__always) get {
      if outbox.pointee.hasNewAgain || tookLeft, tokenDue == .max { return 0 }
      guard let next = outbox.pointee.nextTry else { return .max }
      if let triedAt, next <= triedAt { return .max }
      return next
    }
  }

  /// Makes the next wait end when a connection is ready as needed.
  @inline(never)
  mutating func watch() {
    for number in 0..<connectionCount { connections[number].link.watch(on: &network) }
  }
}
