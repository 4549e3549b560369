/// What the end of a connection means to what it carried, by what the session has read.
extension World {
  func settle(_ line: Int) {
    let connection = lines[line]
    let serial = connection.serial
    if connection.hasSaidGoodbye, !connection.isDone {
      // Closed for good: what has no end becomes unknown, and nothing is sent again.
      return ledger.end(serial, as: .gaveUp)
    }
    if connection.isUnread {
      violate("\(connection) is dropped after a failed write, and nobody looked for a packet")
    }
    if connection.isRefused {
      met(.refusals)
      ledger.end(serial, as: .refused)
      return cameToNothing()
    }
    if connection.hasWord, connection.inboxRead >= 6 {
      met(status: connection.inbox[1])
      switch connection.word {
      case .rejects(let before, let status):
        met(.rejections)
        return settled(line, accepted: before, rejected: status)
      case .proves(let count):
        met(connection.inbox[1] == 10 ? .shutdowns : .sentinelsNamed)
        return settled(line, accepted: count, rejected: nil)
      case .answers(let count, let status) where answersSentinel(line, status):
        met(.sentinelsUnnamed)
        return settled(line, accepted: count, rejected: nil)
      case .answers: met(.sentinelsInDoubt)
      case .nothing: met(connection.namesStranger ? .strangers : .nameless)
      }
    } else if connection.isDone, connection.inbox[0] != 8,
      connection.inboxRead > 0
    {
      met(.noises)
    } else if connection.isDone || connection.isBroken {
      met(connection.ending == .goodbye ? .silentGoodbyes : .silentResets)
    } else if !(connection.isSpare && connection.frames == 0) {
      checkGivingUp(line)
    }
    endedInDoubt(line)
  }

  /// A status that can mean nothing but the missing token of the sentinel, or an option
  /// that says so of all.
  private func answersSentinel(_ line: Int, _ status: UInt8) -> Bool {
    if given.zero_proves != 0 || status == 2 { return true }
    let lane = ledger.lanes[line / 2]
    return status == 5 && (lane.first < 0 || lane.lastOdd < lane.first)
  }

  private func settled(_ line: Int, accepted: Int, rejected: UInt8?) {
    let lane = line / 2
    ledger.end(lines[line].serial, as: .settled)
    ledger.lanes[lane].ambiguousEnds = 0
    cameToSomething()
    guard scenario.isExact else { return }
    for _ in 0..<accepted { ledger.resolveFirst(of: lane, as: .accepted) }
    if let rejected { ledger.resolveFirst(of: lane, as: .rejected(rejected)) }
    let left = lines[line].frames - accepted - (rejected == nil ? 0 : 1)
    if left > 0 {
      met(.resends, left)
      ledger.counts.resent += left
    }
  }

  private func endedInDoubt(_ line: Int) {
    let lane = line / 2
    let frames = lines[line].frames
    let serial = lines[line].serial
    guard frames > 0 else { return ledger.end(serial, as: .settled) }
    met(.ambiguousEnds)
    cameToNothing()
    guard scenario.isExact else { return ledger.end(serial, as: .ambiguous) }
    ledger.lanes[lane].ambiguousEnds += 1
    if resends, ledger.lanes[lane].ambiguousEnds < 5 {
      ledger.end(serial, as: .ambiguous)
      met(.resends, frames)
      ledger.counts.resent += frames
    } else {
      met(.givenUp)
      ledger.end(serial, as: .gaveUp)
      ledger.lanes[lane].ambiguousEnds = 0
      for _ in 0..<frames { ledger.resolveFirst(of: lane, as: .unknown) }
    }
  }

  /// Without a word of its end a connection is left only where it took nothing for long,
  /// or owed an answer for long.
  private func checkGivingUp(_ line: Int) {
    let since = lines[line].refusedSince
    if since > 0, clock - since >= writeTimeout { return met(.writeTimeouts) }
    let took = lines[line].tookAt
    if scenario.isExact, since == 0, took > 0, clock - took >= answerTimeout {
      return met(.answerTimeouts)
    }
    violate("\(lines[line]) is dropped, and there was nothing wrong with it")
  }
}
