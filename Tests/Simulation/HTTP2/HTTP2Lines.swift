/// The session's end of the connections: the part for HTTP/2.
extension HTTP2World {
  /// Any call has to answer SETTINGS and PING.
  var writesInAnyCall: Bool { true }
  var shortestWait: Int64 { 2_000_000 }
  /// `cancelled` checks an abandoned stream.
  var onlyLine: Int? { nil }

  // MARK: Opening

  func newConnection(_ line: Int) -> HTTP2Link { HTTP2Link(self, line: line) }

  func willOpen(_ line: Int, isStandby: Bool) {
    if isStandby { violate("a standby connection, by HTTP/2") }
    // A suspected poison notification gets an extra connection.
    let maximum = Int(given.session.connections) + (isAnyApart ? 1 : 0)
    if lines.contains(where: isHeld) { isAnyHeld = true }
    let open = lines.count(where: { $0.phase != .closed && !$0.isSettling })
    let held = min(
      lines.count(where: { isHeld($0) && !$0.isSettling }), Int(given.session.connections))
    // Connections next to a held one stay until nothing is in flight on some of them.
    if open <= Int(given.session.connections) { extra = 0 }
    extra = max(extra, held)
    if open - extra >= maximum { violate("one connection more than \(given.session.connections)") }
    if isAnsweredEarly { cameToSomething() }
  }

  /// The service allows only one stream, and its time is over.
  func isHeld(_ connection: HTTP2Link) -> Bool {
    guard connection.phase == .open, connection.allowedLeast <= 1 else { return false }
    // Bytes that this call has read may come too late for its decision.
    if connection.heldIn == call.started { return true }
    // Nobody saw a request in a TLS record that was not taken, on a connection that nobody reads,
    // or above the service's last stream.
    if connection.everRefused || connection.isDeaf || connection.lastStream != .max { return true }
    guard
      let index = connection.requests.last(where: { $0 >= 0 && ledger.asked[$0].seen == .open })
    else { return false }
    // The session looks at the clock a moment before it writes.
    return clock - max(ledger.asked[index].at, connection.lastEnd) >= 249_000_000 - faults.lapseMax
  }

  func begun(_ line: Int) {
    lines[line].serial = ledger.connections
    ledger.connections += 1
    lines[line].isSound = isHealed
    lines[line].showsToken = showsToken
  }

  func noteRenewal() { if renewalDice.below(3) == 0 { showsToken.toggle() } }

  func opened(_ line: Int) {
    lines[line].lastRead = clock
    lines[line].beginService()
  }

  func cameToNothing() { pauseForNothing() }

  // MARK: Reading

  func giveOut(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let connection = lines[line]
    if connection.losesUnread, connection.endsAt <= clock { return 0 }
    var count = min(connection.available(at: clock), buffer.count)
    if count > 1, dice.happens(scenario.partialReads) { count = dice.within(1...count) }
    guard count > 0, let target = buffer.baseAddress else { return 0 }
    connection.bytes.withUnsafeBytes {
      target.copyMemory(from: $0.baseAddress! + connection.bytesRead, byteCount: count)
    }
    connection.bytesRead += count
    return count
  }

  func hasRead(_ line: Int) {
    lines[line].lastRead = clock
    noteMarks(lines[line])
  }

  // MARK: The service

  func act(_ line: Int, until time: Int64) { lines[line].act(until: time) }

  func receive(_ line: Int, _ bytes: UnsafeRawBufferPointer) { lines[line].receive(bytes) }

  // MARK: Waiting

  /// Notifications that never get a response, or may end connections, keep no others waiting, and
  /// neither does a suspension of the process.
  private func checkOthersGoOn(until time: Int64) {
    // A service that is gone has not seen new requests. A connection for the others may be opening.
    guard scenario.isPoisonOnly || scenario.isSuspendedOnly, scenario.devices == 0,
      time - clock > 50_000_000, !lacksToken,
      !lines.contains(where: {
        $0.phase == .opening || $0.phase == .open && ($0.isDeaf || !$0.hasReadSettings)
      })
    else { return }
    while ledger.firstWaiting < ledger.taken,
      ledger.sent[ledger.firstWaiting].asked > 0 || isTold(ledger.firstWaiting)
    {
      ledger.firstWaiting += 1
    }
    let free = lines.count {
      $0.phase == .open && $0.hasReadSettings && !$0.isSettling && $0.pingedAt == 0
        && $0.openRequests < min(scenario.streamsMax, 99)
        // The session waits for a token's first response, but not for long.
        && (!$0.showsToken || $0.hasReadAnswer
          || $0.openRequests == 1 && time - clock > 300_000_000)
        && !$0.requests.contains {
          $0 >= 0 && ledger.asked[$0].seen == .open && mostEnds(of: ledger.asked[$0].number) > 1
        }
    }
    guard free > 0 else { return }
    // One connection may be kept for the suspects, and serves no others while it finishes.
    let hasSuspect = (0..<ledger.taken).contains {
      let newest = ledger.sent[$0].newest
      return newest >= 0 && ledger.asked[newest].seen != .open && !isTold($0)
        && mostEnds(of: $0) > 1
    }
    guard free > (hasSuspect ? 1 : 0) else { return }
    for number in ledger.firstWaiting..<ledger.taken
    where ledger.sent[number].asked == 0 && !isTold(number) && !ledger.sent[number].isCancelled
      && !isDue(number) && mostEnds(of: number) < 2
    {
      violate("\(call.name) waits \((time - clock) / 1000) us, and \(number) could be sent")
    }
  }

  /// The session waits for a response no longer than the options allow.
  func checkWaiting(until time: Int64) {
    checkOthersGoOn(until: time)
    guard time - clock > answerTimeout + 1_000_000_000 else { return }
    // If a line takes nothing, the service does not know which streams were abandoned.
    for connection in lines
    where connection.phase == .open && connection.openRequests > 0 && connection.refusedSince == 0
      && connection.requests.contains(where: {
        $0 >= 0 && ledger.asked[$0].seen == .open && !isDue(ledger.asked[$0].number)
      })
    {
      // A connection that reads nothing any more has not seen it either, and the session may be
      // waiting for the answer to a PING.
      if connection.isDeaf, time - clock <= connectTimeout { continue }
      violate("\(call.name) waits \((time - clock) / 1000) us for \(connection)")
    }
  }
}
