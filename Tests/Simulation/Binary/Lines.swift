import CAPNS

/// The session's end of the connections: the part for the binary interface.
extension World {
  /// A sentinel may be written in any call; whether it is allowed is checked when it arrives.
  var writesInAnyCall: Bool { true }
  var shortestWait: Int64 { 1000 }

  // MARK: Opening

  func newConnection(_ line: Int) -> BinaryLink {
    BinaryLink(line: line, stream: streams + line * BinaryLink.room)
  }

  func willOpen(_ line: Int, isStandby: Bool) {
    if isStandby, given.binary.no_standby != 0 { violate("a standby connection, by \(line)") }
  }

  func begun(_ line: Int) { lines[line].serial = ledger.beginConnection() }

  /// Bytes that were written, or offered to TLS, stay; later ones have to wait.
  func noteRenewal() {
    ledger.wantProof(call)
    for connection in lines where connection.phase == .open {
      connection.heldFrom = min(
        connection.heldFrom,
        connection.offset + connection.streamCount + connection.pendingCount)
    }
  }

  func noteCancelling(_ number: Int) {
    // From here on only the session knows which of them it had written.
    scenario.cancels = true
    guard !ledger.sent[number].isCancelled else { return }
    ledger.sent[number].isCancelled = true
    for connection in lines where connection.phase == .open {
      ledger.cancelledFrom[number, default: [:]][connection.serial] =
        connection.offset + connection.streamCount + connection.pendingCount
    }
  }

  func identifier(_ number: Int) -> UInt32 { ledger.sent[number].identifier }

  /// Frames are not shorter than their tokens' 4 bytes and the bytes before them.
  var offered: Int { lines.reduce(0) { $0 + $1.pendingCount / 9 + 1 } }

  func opened(_ line: Int) {
    if !isHealed { drawFaultPlan(line) }
  }

  func cameToNothing() {
    // A long silence counts as an achievement, which only the session can see.
    if scenario.hasSentinels { pauseForNothing() }
  }

  private func drawFaultPlan(_ line: Int) {
    let connection = lines[line]
    if dice.happens(scenario.refusals) {
      connection.isDeaf = true
      connection.ending = .refusal
      connection.endsAt = clock + connection.down
      return
    }
    var faultPlan = FaultPlan.serve
    if dice.happens(scenario.silentEnds) {
      faultPlan = .end
    } else if dice.happens(scenario.shutdowns) {
      faultPlan = .shutDown
    } else if dice.happens(scenario.strangers) {
      faultPlan = .nameStranger
    } else if dice.happens(scenario.noises) {
      faultPlan = .talkNoise
    } else if given.binary.zero_proves == 0, dice.happens(scenario.namelessPackets) {
      // With status 2 or 5 it would count as an answer to a sentinel, which it is not.
      faultPlan = .nameNobody(dice.pick([0, 1, 7, 8, 10, 128, 255]))
    } else if dice.happens(scenario.blackHoles) {
      faultPlan = .vanish
    } else {
      return
    }
    connection.faultPlan = faultPlan
    if dice.below(2) == 0 {
      connection.faultPlanAt = clock + dice.time(upTo: 30_000_000_000)
    } else {
      connection.faultPlanAfter = dice.below(dice.pick([100, 2000, 40_000]))
    }
  }

  // MARK: Reading

  func giveOut(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let connection = lines[line]
    var count = 0
    while connection.inboxRead < connection.inboxCount, count < buffer.count,
      connection.arrivals[connection.inboxRead] <= clock
    {
      buffer[count] = connection.inbox[connection.inboxRead]
      connection.inboxRead += 1
      count += 1
    }
    if count == 0, connection.inboxRead > 0, connection.endsAt <= clock { met(.cutPackets) }
    return count
  }

  func hasRead(_ line: Int) {
    let connection = lines[line]
    if connection.inboxRead < min(connection.inboxCount, 6) { met(.splitPackets) }
    // The first byte shows the session that this is not a packet; otherwise it has a whole packet.
    if connection.inbox[0] != 8 || connection.inboxRead >= 6 { connection.isDone = true }
  }
}
