/// The effect of a connection's end on the notifications it carried, from the bytes that the
/// session has read.
extension World {
  func settle(_ line: Int) {
    let connection = lines[line]
    let serial = connection.serial
    if connection.hasSaidGoodbye, !connection.isDone {
      // The session was closed for good: all without an outcome become unknown, without a resend.
      return ledger.end(serial, as: .gaveUp)
    }
    if connection.isUnread {
      violate("\(connection) is dropped after a failed write, and nobody looked for a packet")
    }
    if connection.isRefused {
      met(.refusals)
      ledger.end(serial, as: .refused)
      turnedDown(line)
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
    } else if connection.credentials != credentials, connection.refusedSince == 0,
      connection.frames == 0 || !scenario.hasSentinels || isDeadlineNear(line / 2)
    {
      // It had nothing to prove, or silence has proven it.
      return ledger.end(
        serial, as: connection.frames == 0 || scenario.hasSentinels ? .ambiguous : .settled)
    } else if !(connection.isStandby && connection.frames == 0) {
      checkGivingUp(line)
    }
    endedInDoubt(line)
  }

  /// Whether the status, alone or by an option, can only mean the sentinel's missing token.
  private func answersSentinel(_ line: Int, _ status: UInt8) -> Bool {
    if given.binary.zero_proves != 0 || status == 2 { return true }
    let channel = ledger.channels[line / 2]
    return status == 5 && (channel.first < 0 || channel.lastOdd < channel.first)
  }

  private func settled(_ line: Int, accepted: Int, rejected: UInt8?) {
    let channel = line / 2
    ledger.end(lines[line].serial, as: .settled)
    ledger.channels[channel].ambiguousEnds = 0
    ledger.channels[channel].hasProven = true
    ledger.channels[channel].unprovenSince = -1
    // In an event loop, a call's wish for proof stays for the next call.
    if rejected == nil, ledger.channels[channel].wantedAt != call.started,
      !usesLoop || ledger.firstUnresolved < 0
    {
      ledger.channels[channel].wantsProof = false
    }
    ledger.channels[channel].rejections =
      rejected == nil ? 0 : ledger.channels[channel].rejections + 1
    cameToSomething()
    guard scenario.isExact else { return }
    for _ in 0..<accepted { ledger.resolveFirst(of: channel, as: .accepted) }
    if let rejected { ledger.resolveFirst(of: channel, as: .rejected(rejected)) }
    let left = lines[line].frames - accepted - (rejected == nil ? 0 : 1)
    if left > 0 {
      met(.resends, left)
      ledger.counts.resent += left
    }
  }

  private func endedInDoubt(_ line: Int) {
    let channel = line / 2
    let frames = lines[line].frames
    let serial = lines[line].serial
    guard frames > 0 else {
      // The gateway cannot have accepted a part of a notification.
      if scenario.isExact, !ledger.isInDoubt(channel) {
        ledger.channels[channel].unprovenSince = -1
      }
      return ledger.end(serial, as: .settled)
    }
    met(.ambiguousEnds)
    cameToNothing()
    ledger.doubt(serial)
    guard scenario.isExact else { return ledger.end(serial, as: .ambiguous) }
    ledger.channels[channel].ambiguousEnds += 1
    var left = frames
    if !resends {
      ledger.end(serial, as: .gaveUp)
      for _ in 0..<frames { ledger.resolveFirst(of: channel, as: .unknown) }
      left = 0
    } else if ledger.channels[channel].ambiguousEnds
      < (ledger.channels[channel].hasProven ? 64 : 12)
    {
      ledger.end(serial, as: .ambiguous)
      left -= giveUpPoison(of: channel)
    } else {
      met(.givenUp)
      ledger.end(serial, as: .gaveUp)
      ledger.channels[channel].ambiguousEnds = 0
      ledger.channels[channel].hasProven = false
      ledger.channels[channel].hasGivenUp = true
      _ = ledger.giveUp(of: channel, doubts: 1)
      left = 0
    }
    if !ledger.isInDoubt(channel) { ledger.channels[channel].unprovenSince = -1 }
    met(.resends, left)
    ledger.counts.resent += left
  }

  /// The gateway may have looked at its notifications, so those in flight are in doubt too.
  private func turnedDown(_ line: Int) {
    let channel = line / 2
    guard lines[line].frames > 0 else {
      if scenario.isExact, !ledger.isInDoubt(channel) {
        ledger.channels[channel].unprovenSince = -1
      }
      return
    }
    ledger.channels[channel].wasRefused = true
    ledger.doubt(lines[line].serial)
    guard scenario.isExact else { return }
    _ = giveUpPoison(of: channel)
    if !ledger.isInDoubt(channel) { ledger.channels[channel].unprovenSince = -1 }
  }

  /// A notification in doubt for the fifth time was alone in flight, because it may be poison.
  private func giveUpPoison(of channel: Int) -> Int {
    let count = ledger.giveUp(of: channel, doubts: 5)
    if count > 1 { violate("\(count) become unknown together as poison") }
    if count > 0 { met(.poison) }
    return count
  }

  /// Unless it sees the end, the session drops a connection only if it took nothing or left
  /// something unanswered for a long time.
  private func checkGivingUp(_ line: Int) {
    let since = lines[line].refusedSince
    if since > 0, clock - since >= writeTimeout { return met(.writeTimeouts) }
    let took = lines[line].tookAt
    if scenario.hasSentinels, since == 0, took > 0, clock - took >= answerTimeout {
      return met(.answerTimeouts)
    }
    violate("\(lines[line]) is dropped, and there was nothing wrong with it")
  }
}
