import CAPNS

/// The traffic on the lines: reading and writing.
extension Wired {
  // MARK: Reading

  func isReadable(_ line: Int) -> Bool {
    bringUp(line)
    return lines[line].phase == .open && lines[line].readableAt(clock) <= clock
  }

  func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    let connection = lines[line]
    guard connection.phase == .open else {
      violate("\(connection) is read and not open")
      return .end
    }
    if connection.isDone { violate("\(connection) is read on after its end") }
    if call.isStill { violate("\(connection) is read in a call that does no I/O") }
    connection.isUnread = false
    bringUp(line)
    if connection.rereadAt > 0, connection.rereadAt <= clock {
      if connection.rereadAt > call.started { news += 1 }
      connection.rereadAt = 0
      call.vainWaits = 0
    }
    if connection.ticketAt <= clock {
      connection.ticketAt = .max
      call.vainWaits = 0
    }
    let count = giveOut(line, into: buffer)
    if count > 0 {
      call.vainWaits = 0
      news += 1
      say("\(count) bytes are read on \(connection)")
      hasRead(line)
      return .bytes(count)
    }
    guard connection.endsAt <= clock else { return .nothing }
    connection.isDone = true
    news += 1
    say("\(connection) is found ended: \(connection.ending)")
    switch connection.ending {
    case .goodbye: return .end
    case .broken: return .broken
    case .refusal:
      connection.isRefused = true
      return .broken
    }
  }

  /// The reason why the connection broke. A refusal counts only if it was found by reading.
  func failure(_ line: Int) -> Failure {
    let connection = lines[line]
    if !connection.isDone, !connection.isBroken {
      violate("the session wants the failure of \(connection), which did not break")
    }
    guard connection.isRefused else { return Failure(APNS_ERR_NETWORK, "the connection broke") }
    return Failure(
      APNS_ERR_TLS, "the peer ended the connection", cause: APNS_CAUSE_CERTIFICATE_REFUSED)
  }

  // MARK: Writing

  func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    let connection = lines[line]
    guard connection.phase == .open, !connection.hasSaidGoodbye else {
      violate("\(connection) is written to and not open")
      return .full
    }
    if !call.mayWrite, !writesInAnyCall {
      violate("something is written in a call that only looks")
    }
    if connection.isDone { violate("\(connection) is written to after its end") }
    if call.isStill { violate("\(connection) is written to in a call that does no I/O") }
    if bytes.count == 0 || bytes.count > 16 << 10 { violate("a record of \(bytes.count) bytes") }
    bringUp(line)
    checkPending(connection, bytes)
    if connection.endsAt <= clock {
      // The bytes are lost until the network reports that the peer is gone.
      connection.mayHide = true
      if connection.ending == .goodbye, !connection.writesFail {
        connection.writesFail = dice.below(2) == 0
      } else {
        (connection.isBroken, connection.isUnread) = (true, true)
        met(.brokenWrites)
        return .broken
      }
    }
    if connection.rereadAt > 0 {
      refuse(connection, bytes)
      return .needsReading
    }
    if connection.fullUntil > clock {
      refuse(connection, bytes)
      return .full
    }
    if connection.budget <= 0 {
      met(.stalls)
      let isEndless = dice.below(faults.stalls + faults.endlessStalls) < faults.endlessStalls
      connection.fullUntil = isEndless ? .max : clock + dice.time(upTo: 5_000_000_000)
      connection.budget = drawBudget()
      say("\(connection) takes no more for a while")
      refuse(connection, bytes)
      return .full
    }
    if connection.pendingCount == 0, !isHealed, dice.happens(faults.renegotiations) {
      met(.renegotiations)
      connection.rereadAt = clock + connection.up + connection.down + 1
      refuse(connection, bytes)
      return .needsReading
    }
    var count = bytes.count
    if connection.pendingCount > 0 {
      count = min(count, connection.pendingCount)
    } else if dice.happens(faults.partialWrites) {
      count = dice.within(1...count)
    }
    if connection.refusedSince > 0, connection.fullUntil > call.started { news += 1 }
    connection.pendingCount = 0
    connection.refusedSince = 0
    connection.tookAt = clock
    if connection.budget != .max { connection.budget -= count }
    // A few of the notifications in it may be incomplete.
    connection.mayHide = connection.isDeaf || count < bytes.count || count == 16 << 10
    call.vainWaits = 0
    stepsForward += 1
    counts.bytes += count
    counts.records += 1
    say("\(connection) takes \(count) of \(bytes.count) bytes")
    receive(line, UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
    return .bytes(count)
  }

  private func refuse(_ connection: Wire, _ bytes: UnsafeRawBufferPointer) {
    say("\(connection) takes none of \(bytes.count) bytes")
    if connection.refusedSince == 0 { connection.refusedSince = clock }
    (connection.everRefused, connection.mayHide) = (true, true)
    if clock - connection.refusedSince >= answerTimeout { starvedAt = clock }
    guard connection.pendingCount == 0 else { return }
    connection.pendingCount = bytes.count
    connection.pendingSum = sum(bytes)
  }

  /// Bytes that TLS was given once have to come first the next time, or TLS fails.
  private func checkPending(_ connection: Wire, _ bytes: UnsafeRawBufferPointer) {
    let count = connection.pendingCount
    guard count > 0 else { return }
    if bytes.count < count
      || sum(UnsafeRawBufferPointer(rebasing: bytes[0..<count])) != connection.pendingSum
    {
      violate("\(connection) refused \(count) bytes, and is given others first")
    }
  }
}

private func sum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
  var sum: UInt64 = 14_695_981_039_346_656_037
  for byte in bytes { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
  return sum
}
