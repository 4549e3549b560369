import CAPNS

/// Whether what the session tells is what was.
extension World {
  /// The caller was told of an end.
  func tell(_ number: Int, _ identifier: UInt32, _ end: End) {
    let sent = ledger.sent + number
    if sent.pointee.identifier != identifier {
      violate("\(number) is told as \(identifier), not \(sent.pointee.identifier)")
    }
    if sent.pointee.told != .none { violate("\(number) is told twice") }
    sent.pointee.told = end
    ledger.counts.told += 1
    let last = ledger.lanes[sent.pointee.lane].lastTold
    if number <= last { violate("\(number) is told after \(last)") }
    ledger.lanes[sent.pointee.lane].lastTold = number
    switch end {
    case .accepted:
      met(.acceptedEvents)
      if !reportsAccepted { violate("\(number) is told, and not wanted") }
    case .rejected: met(.rejectedEvents)
    case .unknown, .none: met(.unknownEvents)
    }
    checkEnd(number, end)
    guard scenario.isExact else { return }
    for lane in 0..<Int(given.connections) {
      let other = ledger.waitingEvent(of: lane, reportsAccepted: reportsAccepted)
      if let other, other < number { violate("\(number) is told before \(other)") }
    }
  }

  /// The end that the session gave it against what the gateway did.
  private func checkEnd(_ number: Int, _ end: End) {
    let sent = ledger.sent[number]
    if scenario.isExact, sent.due != end { violate("\(number) ends as \(end), not \(sent.due)") }
    switch end {
    case .accepted:
      if sent.acceptor < 0 { violate("\(number) ends as accepted, and was not") }
    case .rejected(let status):
      if sent.acceptor >= 0 { violate("\(number) ends as rejected, and was accepted") }
      guard case .bad(let reason) = sent.fate, reason == status, sent.wasRejected else {
        return violate("\(number) ends as rejected with \(status), which it was not")
      }
    case .unknown, .none: break
    }
  }

  func isTold(_ number: Int) -> Bool { ledger.sent[number].told != .none }
  func wasAccepted(_ number: Int) -> Bool { ledger.sent[number].acceptor >= 0 }
  func checkAccepted(_ number: Int) { checkEnd(number, .accepted) }

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
    // A sentinel may be there too, or not.
    let live = counts.takenBytes - counts.endedBytes
    let extra = Int(stats.window) - live
    if extra < 0 || extra > 20 * Int(max(given.connections, 1)) {
      violate("stats: window is \(stats.window), and \(live) bytes have no end")
    }
  }
}
