import CAPNS

/// Checks whether what the session reports is what happened.
extension World {
  /// The session reported an outcome to the caller.
  func tell(_ event: apns_event_t) {
    guard let number = takeBack(event.user_data) else { return }
    let end: End =
      switch apns_event_kind_t(UInt32(event.kind)) {
      case APNS_EVENT_ACCEPTED: .accepted
      case APNS_EVENT_REJECTED: .rejected(UInt8(event.reject))
      case APNS_EVENT_CANCELLED: .cancelled
      case APNS_EVENT_EXPIRED: .expired
      default: .unknown
      }
    say("event of \(number): \(end)")
    let sent = ledger.sent + number
    if sent.pointee.identifier != event.identifier {
      violate(
        "event of \(number) has identifier \(event.identifier), not \(sent.pointee.identifier)")
    }
    if sent.pointee.told != .none { violate("second event of \(number)") }
    sent.pointee.told = end
    ledger.counts.told += 1
    if !pushed.isTelling { checkTurn(number, sent.pointee.channel, end) }
    switch end {
    case .accepted:
      met(.acceptedEvents)
      ledger.counts.toldAccepted += 1
      if !reportsAccepted, !pushed.isTelling {
        violate("event of the accepted \(number), against the options")
      }
    case .rejected: met(.rejectedEvents)
    case .cancelled: met(.cancelledEvents)
    case .expired: met(.expiredEvents)
    case .unknown, .none: met(.unknownEvents)
    }
    checkEnd(number, end)
  }

  /// Events come in the order in which their notifications were taken.
  private func checkTurn(_ number: Int, _ channel: Int, _ end: End) {
    let gone = ledger.channels[channel].lastForgotten
    if end == .accepted, number < gone { violate("event of \(number) after \(gone) gave way") }
    let last = ledger.channels[channel].lastTold
    // Cancelled notifications are reported before others.
    if number <= last, !scenario.cancels { violate("event of \(number) after that of \(last)") }
    ledger.channels[channel].lastTold = number
    guard scenario.isExact else { return }
    for channel in 0..<Int(given.session.connections) {
      let other = ledger.waitingEvent(of: channel) {
        reportsAccepted && userData[$0].place != .released
      }
      if let other, other < number { violate("event of \(number) before that of \(other)") }
    }
  }

  /// Compares the outcome that the session gave with what the gateway did.
  private func checkEnd(_ number: Int, _ end: End) {
    let sent = ledger.sent[number]
    if scenario.isExact, sent.due != end { violate("\(number) ends as \(end), not \(sent.due)") }
    switch end {
    case .accepted:
      if sent.acceptor < 0 { violate("\(number) ends as accepted, and was not") }
    case .rejected(let status):
      if sent.acceptor >= 0 { violate("\(number) ends as rejected, and was accepted") }
      guard case .bad(let reason) = sent.planned, reason == status, sent.wasRejected else {
        return violate("\(number) ends as rejected with \(status), which it was not")
      }
    case .cancelled:
      if sent.acceptor >= 0 { violate("\(number) ends as cancelled, and was accepted") }
      if !sent.isCancelled { violate("\(number) ends as cancelled, and was not") }
    case .expired:
      if sent.acceptor >= 0 { violate("\(number) ends as expired, and was accepted") }
      if sent.doubts > 0 { violate("\(number) ends as expired, and was in doubt") }
      if !isDue(number) { violate("\(number) ends as expired, and was not due") }
    case .unknown, .none:
      if isDue(number) { met(.dueInDoubt) }
      checkUnknown(number)
    }
  }

  /// Its deadline has come.
  func isDue(_ number: Int) -> Bool { clock >= ledger.sent[number].timeDue?.lowerBound ?? .max }

  /// If only poison notifications end connections, only they fail to get through.
  private func checkUnknown(_ number: Int) {
    guard scenario.isPoisonous, scenario.isExact, !isClosed else { return }
    if case .killer = ledger.sent[number].planned { return }
    // Several poison notifications can end enough connections in a row without proof that
    // everything in doubt becomes unknown, as the header says.
    for channel in 0..<4 where ledger.channels[channel].hasGivenUp { return }
    violate("\(number) is unknown because of poison notifications")
  }

  // MARK: Writes that are due

  /// Something is written that not every call may write.
  func checkWriting(_ line: Int) {
    // Two writes are allowed in any call: the next notifications, once silence has proven all that
    // may be in flight together; and a sentinel after the gateway rejected the provider, to see
    // whether it is admitted now.
    if !call.mayWrite, !isProofDue(line / 2), !scenario.isQuiet, !isDeadlineNear(line / 2),
      !ledger.channels[line / 2].wasRefused
    {
      violate("something is written in a call that only looks, by line \(line)")
    }
  }

  func isProofDue(_ channel: Int) -> Bool {
    let since = ledger.channels[channel].unprovenSince
    // The session looked at the clock some time before it wrote or tried to write.
    let slack = 100_000 + faults.lapseMax + (ledger.channels[channel].wasFull ? writeTimeout : 0)
    return ledger.channels[channel].wantsProof || since >= 0 && clock - since >= proveAfter - slack
  }

  /// Something of the channel has to be proven before its deadline, or has reached it.
  func isDeadlineNear(_ channel: Int) -> Bool {
    hasDeadlines
      && (0..<taken).contains {
        let sent = ledger.sent[$0]
        return sent.channel == channel && clock + proofLead >= sent.timeDue?.lowerBound ?? .max
      }
  }

  private var proveAfter: Int64 {
    given.binary.prove_after_ms < 0
      ? .max / 2
      : Int64(given.binary.prove_after_ms == 0 ? 60_000 : given.binary.prove_after_ms) * 1_000_000
  }

  /// A connection that waits for the answer to its sentinel holds up nobody, if there are several.
  func checkIsWritable(_ number: Int, _ channel: Int) {
    for connection in lines
    where connection.line / 2 == channel && connection.phase == .open && connection.hasSentinel {
      violate("\(number) waits behind the sentinel on \(connection), and there are others")
    }
  }

  /// A call is over that had to prove notifications that have been in flight for long.
  func checkAge(mayConnect: Bool) {
    // Proof needs a new connection afterwards.
    guard scenario.isExact, mayConnect else { return }
    for connection in lines where connection.phase == .open && connection.frames > 0 {
      let since = ledger.channels[connection.line / 2].unprovenSince
      if since >= 0, call.started - since >= proveAfter + 1_000_000, !connection.hasSentinel,
        !connection.isDone, !connection.everRefused, !isHeldBack(connection)
      {
        // A pause may not have been over when the call came to this connection, and the
        // session looks at the clock only now and then.
        guard call.started - connection.overdueAt >= 1_000_000 else { continue }
        connection.overdueAt = call.started
        connection.overdueCalls += 1
        if connection.overdueCalls > 3 {
          violate("\(connection) has had notifications for long, and is not to prove them")
        }
      }
    }
  }

  /// A call is over that had to write everything that waits.
  func checkWritten() {
    guard scenario.isExact else { return }
    for connection in lines where connection.phase == .open && connection.firstWrite >= 0 {
      if !connection.isDone, isHeldBack(connection) {
        violate("what follows \(connection.lastNumber) on \(connection) is not written")
      }
    }
  }

  /// Something that waits is not written although the peer takes bytes.
  private func isHeldBack(_ connection: BinaryLink) -> Bool {
    ledger.channels[connection.line / 2].last > connection.lastNumber
  }

  /// The session waits. It may hold notifications back only after many rejections, and at a
  /// time no longer than the longest delay it assumes.
  func checkWaiting(until time: Int64) {
    guard scenario.isExact else { return }
    for connection in lines where connection.phase == .open && connection.firstWrite >= 0 {
      guard !connection.hasSentinel, !connection.hasSaidGoodbye, connection.refusedSince == 0,
        connection.rereadAt == 0, connection.endsAt > clock, isHeldBack(connection)
      else { continue }
      let rejections = ledger.channels[connection.line / 2].rejections
      let held = clock - max(connection.tookAt, call.started)
      if rejections < 3 {
        violate("\(connection) is held back after \(rejections) rejections")
      } else if held > 1_050_000_000, faults.lapseMax == 0 {
        violate("\(connection) is held back for \(held / 1000) us")
      }
      met(.heldBack)
    }
  }

  func noteForgotten(_ number: Int) {
    let channel = ledger.sent[number].channel
    ledger.channels[channel].lastForgotten = max(number, ledger.channels[channel].lastForgotten)
  }

  func isTold(_ number: Int) -> Bool { ledger.sent[number].told != .none }
  func wasAccepted(_ number: Int) -> Bool { ledger.sent[number].acceptor >= 0 }
  func checkAccepted(_ number: Int) { checkEnd(number, .accepted) }
  func mayBeAccepted(_ number: Int) -> Bool { wasAccepted(number) }
  /// The connection may have ended before its proof, and only the session knows.
  func hasToBeAccepted(_ number: Int) -> Bool { false }

  var answersRead: Int? { nil }

  func checkOwn(_ stats: apns_session_stats_t) {
    guard scenario.isExact else { return }
    let counts = ledger.counts
    equal(stats.accepted, counts.accepted, "accepted")
    equal(stats.rejected, counts.rejected, "rejected")
    equal(stats.unknown, counts.unknown, "unknown")
    equal(stats.resent, counts.resent, "resent")
    var inFlight = 0
    for connection in lines where connection.phase == .open { inFlight += connection.frames }
    equal(stats.in_flight, inFlight, "in_flight")
    let first = ledger.firstUnresolved
    equal(
      UInt64(stats.first_unresolved), first < 0 ? 0 : Int(ledger.sent[first].identifier),
      "first_unresolved")
    equal(stats.window, counts.takenBytes - counts.endedBytes, "window")
  }
}
