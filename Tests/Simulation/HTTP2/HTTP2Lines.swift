/// The session's end of the connections: what only HTTP/2 does.
extension HTTP2World {
  /// SETTINGS and PING have to be answered in any call.
  var writesInAnyCall: Bool { true }
  var shortestWait: Int64 { 2_000_000 }

  // MARK: Opening

  func newConnection(_ line: Int) -> HTTP2Link { HTTP2Link(self, line: line) }

  func willOpen(_ line: Int, isSpare: Bool) {
    if isSpare { violate("a spare connection, by HTTP/2") }
    if lines.count(where: { $0.phase != .closed && !$0.isSettling }) >= Int(given.connections) {
      violate("one connection more than \(given.connections)")
    }
    if isAnsweredEarly { cameToSomething() }
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

  /// The session waits for an answer no longer than the options say.
  func checkWaiting(until time: Int64) {
    guard time - clock > answerTimeout + 1_000_000_000 else { return }
    // If a line takes nothing, the service has not heard what was given up.
    for connection in lines
    where connection.phase == .open && connection.openRequests > 0 && connection.refusedSince == 0 {
      // A connection that hears nothing any more has not heard it either, and the session
      // may be waiting for the answer to a PING.
      if connection.isDeaf, time - clock <= connectTimeout { continue }
      violate("\(call.name) waits \((time - clock) / 1000) us for \(connection)")
    }
  }
}
