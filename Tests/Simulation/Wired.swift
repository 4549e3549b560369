import CAPNS

/// A world whose lines carry the session's connections. The network behaves the same for
/// every protocol; each world adds its own peer at the other end.
protocol Wired: Stage {
  associatedtype Wire: Link
  /// Two lines for each connection of the session.
  var lines: [Wire] { get set }
  /// A line that has not been opened.
  func newConnection(_ line: Int) -> Wire
  /// True if the session has to answer its peer in any call.
  var writesInAnyCall: Bool { get }
  /// A shorter wait counts as achieving nothing unless something else happens in between.
  var shortestWait: Int64 { get }

  /// A connection will be begun, was begun, or is open.
  func willOpen(_ line: Int, isStandby: Bool)
  func begun(_ line: Int)
  func opened(_ line: Int)
  /// A connection came to nothing, and the session has to know it.
  func cameToNothing()
  /// A connection ended. Decides the outcomes of the notifications it carried, from the bytes that
  /// the session has read.
  func settle(_ line: Int)

  /// The peer does what is due by that time.
  func act(_ line: Int, until time: Int64)
  /// Receives bytes that the session counts as written.
  func receive(_ line: Int, _ bytes: UnsafeRawBufferPointer)
  func hearGoodbye(_ line: Int)
  /// Hands out the bytes that have arrived, and returns how many.
  func giveOut(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int
  /// The session has read these bytes.
  func hasRead(_ line: Int)
  func checkWaiting(until time: Int64)
  /// The session was given other credentials.
  func noteRenewal()
}

extension Wired {
  static var mostLines: Int { 9 }

  /// Resets all lines before a run.
  func clearLines() { lines = (0..<Self.mostLines).map { newConnection($0) } }

  /// The peer of a line catches up with the clock.
  @inline(__always)
  func bringUp(_ line: Int) {
    if lines[line].nextDeed <= clock { act(line, until: clock) }
  }

  func hearGoodbye(_ line: Int) {}
  func checkWaiting(until time: Int64) {}

  // MARK: Opening

  func open(_ line: Int, isStandby: Bool, by deadline: Int64) throws(Failure) {
    let connection = lines[line]
    if connection.phase != .closed {
      return violate("a connection is begun on \(connection), which has one")
    }
    if !call.mayWrite { violate("a connection is begun in a call that only looks") }
    willOpen(line, isStandby: isStandby)
    call.vainWaits = 0
    stepsForward += 1
    if !isHealed, dice.happens(faults.failingOpens / 4) {
      checkOpening(counts: false)
      if !isStandby { cameToNothing() }
      met(.refusedConnects)
      throw Failure(APNS_ERR_NETWORK, "no way there")
    }
    checkOpening(counts: true)
    met(isStandby ? .spares : .connections)
    connection.phase = .opening
    connection.isStandby = isStandby
    connection.credentials = credentials
    connection.openingEnds = deadline
    connection.nextTry = .max
    connection.up = dice.time(upTo: faults.delayMax)
    connection.down = dice.time(upTo: faults.delayMax)
    let longest = isHealed ? min(faults.openingMax, (deadline - clock) / 2) : faults.openingMax
    connection.opensAt = clock + dice.time(upTo: longest)
    connection.opensWell = isHealed || !dice.happens(faults.failingOpens)
    if !isHealed, dice.happens(faults.hangingOpens) { connection.opensAt = .max }
    connection.deadAddresses =
      !isHealed && dice.happens(faults.deadAddresses) ? dice.pick([1, 2, 5]) : 0
    if connection.opensAt < .max, connection.deadAddresses > 0 {
      dial(connection)
    } else {
      connection.deadAddresses = 0
    }
    begun(line)
    say("\(lines[line]) is begun\(isStandby ? ", a standby one" : "")")
  }

  func advance(_ line: Int) throws(Failure) -> Opening {
    let connection = lines[line]
    if connection.phase == .closed { violate("a line is advanced that has no connection") }
    if connection.phase == .open { return .open }
    if clock >= connection.openingEnds {
      met(.openingTimeouts)
      throw openingFailed(line, Failure(APNS_ERR_TIMEOUT, "the handshake took too long"))
    }
    // Only the clock shows that the next address is due.
    if connection.deadAddresses > 0, clock >= connection.nextTry {
      met(.deadAddresses)
      connection.deadAddresses -= 1
      dial(connection)
    }
    guard clock >= connection.opensAt else {
      let readiness: Readiness = line & 1 == 0 ? .reading : .writing
      return .waits(readiness, until: min(connection.nextTry, connection.openingEnds))
    }
    if connection.credentials != credentials {
      violate("\(connection) opens with credentials that were replaced")
    }
    guard connection.opensWell else {
      met(.failedHandshakes)
      throw openingFailed(line, Failure(APNS_ERR_TLS, "the handshake failed"))
    }
    stepsForward += 1
    // The connection opened during the call.
    if connection.opensAt > call.started { news += 1 }
    connection.phase = .open
    connection.budget = drawBudget()
    if dice.happens(faults.tickets) { connection.ticketAt = clock + connection.down }
    connection.found = 0
    call.vainWaits = 0
    counts.connects += 1
    say("\(connection) is open, \(connection.up / 1000) us to its peer")
    opened(line)
    return .open
  }

  /// A dead address does not answer. The one after the last of them opens.
  private func dial(_ connection: Wire) {
    if connection.deadAddresses == 0 {
      (connection.nextTry, connection.opensAt) = (.max, clock + connection.opensAfter)
    } else {
      if connection.nextTry == .max { connection.opensAfter = connection.opensAt - clock }
      (connection.nextTry, connection.opensAt) = (clock + 250_000_000, .max)
    }
  }

  private func openingFailed(_ line: Int, _ failure: Failure) -> Failure {
    if lines[line].opensAt > call.started { news += 1 }
    say("\(lines[line]) does not open")
    // Only the session knows whether it still needs a standby connection.
    if !lines[line].isStandby { cameToNothing() }
    return failure
  }

  func drawBudget() -> Int {
    !isHealed && dice.happens(faults.stalls + faults.endlessStalls)
      ? dice.below(dice.pick([100, 3000, 30_000])) : .max
  }

  // MARK: Ending

  func halfClose(_ line: Int) {
    guard lines[line].phase == .open else { return violate("GOAWAY on a line that is not open") }
    say("GOAWAY on \(lines[line])")
    lines[line].hasSaidGoodbye = true
    hearGoodbye(line)
  }

  func drop(_ line: Int) {
    guard lines[line].phase != .closed else { return }
    if lines[line].phase == .open { settle(line) }
    say("\(lines[line]) is dropped")
    lines[line] = newConnection(line)
  }
}
