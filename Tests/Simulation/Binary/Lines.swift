import CAPNS
import COpenSSL

/// The session's end of the connections: opening, reading, writing, waiting.
extension World {
  // MARK: Opening

  func open(_ line: Int, isSpare: Bool, by deadline: Int64) throws(Failure) {
    let connection = lines + line
    if connection.pointee.phase != .closed {
      return violate("a connection is begun on \(name(line)), which has one")
    }
    if !call.mayWrite { violate("a connection is begun in a call that only looks") }
    if isSpare, scenario.given.no_standby != 0 { violate("a spare connection, by \(line)") }
    call.vainWaits = 0
    if !isHealed, dice.happens(scenario.failingOpens / 4) {
      checkOpening(counts: false)
      if !isSpare { cameToNothing() }
      met(.refusedConnects)
      throw Failure(APNS_ERR_NETWORK, "no way there")
    }
    checkOpening(counts: true)
    met(isSpare ? .spares : .connections)
    connection.pointee.reset()
    connection.pointee.serial = ledger.beginConnection()
    connection.pointee.phase = .opening
    connection.pointee.isSpare = isSpare
    connection.pointee.openingEnds = deadline
    connection.pointee.up = dice.time(upTo: scenario.delayMax)
    connection.pointee.down = dice.time(upTo: scenario.delayMax)
    let longest =
      isHealed ? min(scenario.openingMax, (deadline - clock) / 2) : scenario.openingMax
    connection.pointee.opensAt = clock + dice.time(upTo: longest)
    connection.pointee.opensWell = isHealed || !dice.happens(scenario.failingOpens)
    if !isHealed, dice.happens(scenario.hangingOpens) { connection.pointee.opensAt = .max }
    say("\(name(line)) is begun\(isSpare ? ", a spare one" : "")")
  }

  func advance(_ line: Int) throws(Failure) -> Opening {
    let connection = lines + line
    if connection.pointee.phase == .closed { violate("a line is advanced that has no connection") }
    if connection.pointee.phase == .open { return .open }
    if clock >= connection.pointee.openingEnds {
      met(.openingTimeouts)
      throw openingFailed(line, Failure(APNS_ERR_TIMEOUT, "the handshake took too long"))
    }
    guard clock >= connection.pointee.opensAt else {
      let readiness: Readiness = line & 1 == 0 ? .reading : .writing
      return .waits(readiness, until: connection.pointee.openingEnds)
    }
    guard connection.pointee.opensWell else {
      met(.failedHandshakes)
      throw openingFailed(line, Failure(APNS_ERR_TLS, "the handshake failed"))
    }
    becomeOpen(line)
    return .open
  }

  private func openingFailed(_ line: Int, _ failure: Failure) -> Failure {
    say("\(name(line)) does not open")
    // Whether a spare one is needed by now, only the session knows.
    if !lines[line].isSpare { cameToNothing() }
    return failure
  }

  private func becomeOpen(_ line: Int) {
    let connection = lines + line
    connection.pointee.phase = .open
    connection.pointee.openedAt = clock
    connection.pointee.budget = drawBudget()
    connection.pointee.found = 0
    call.vainWaits = 0
    ledger.counts.connects += 1
    if dice.happens(scenario.tickets) {
      connection.pointee.ticketAt = clock + connection.pointee.down
    }
    if !isHealed { drawWhim(line) }
    say("\(name(line)) is open, \(connection.pointee.up / 1000) us to the gateway")
  }

  private func drawBudget() -> Int {
    !isHealed && dice.happens(scenario.stalls + scenario.endlessStalls)
      ? dice.below(dice.pick([100, 3000, 30_000])) : .max
  }

  private func drawWhim(_ line: Int) {
    let connection = lines + line
    if dice.happens(scenario.refusals) {
      connection.pointee.isDeaf = true
      connection.pointee.ending = .refusal
      connection.pointee.endsAt = clock + connection.pointee.down
      return
    }
    var whim = Whim.serve
    if dice.happens(scenario.silentEnds) {
      whim = .end
    } else if dice.happens(scenario.shutdowns) {
      whim = .shutDown
    } else if dice.happens(scenario.strangers) {
      whim = .nameStranger
    } else if dice.happens(scenario.noises) {
      whim = .talkNoise
    } else if scenario.given.zero_proves == 0, dice.happens(scenario.namelessPackets) {
      // With 2 or 5 it would be a sentinel's answer, which it is not.
      whim = .nameNobody(dice.pick([0, 1, 7, 8, 10, 128, 255]))
    } else if dice.happens(scenario.blackHoles) {
      whim = .vanish
    } else {
      return
    }
    connection.pointee.whim = whim
    if dice.below(2) == 0 {
      connection.pointee.whimAt = clock + dice.time(upTo: 30_000_000_000)
    } else {
      connection.pointee.whimAfter = dice.below(dice.pick([100, 2000, 40_000]))
    }
  }

  // MARK: Reading

  func hasNews(_ line: Int) -> Bool {
    actByTime(line, clock)
    return lines[line].phase == .open && lines[line].readableAt <= clock
  }

  func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    let connection = lines + line
    guard connection.pointee.phase == .open else {
      violate("\(name(line)) is read and not open")
      return .end
    }
    if connection.pointee.isDone { violate("\(name(line)) is read on after its end") }
    connection.pointee.isUnread = false
    actByTime(line, clock)
    if connection.pointee.rereadAt > 0, connection.pointee.rereadAt <= clock {
      connection.pointee.rereadAt = 0
      call.vainWaits = 0
    }
    if connection.pointee.ticketAt <= clock {
      connection.pointee.ticketAt = .max
      call.vainWaits = 0
    }
    var count = 0
    while connection.pointee.inboxRead < connection.pointee.inboxCount, count < buffer.count,
      connection.pointee.arrivals[connection.pointee.inboxRead] <= clock
    {
      buffer[count] = connection.pointee.inbox[connection.pointee.inboxRead]
      connection.pointee.inboxRead += 1
      count += 1
    }
    if count > 0 {
      call.vainWaits = 0
      if connection.pointee.inboxRead < min(connection.pointee.inboxCount, 6) { met(.splitPackets) }
      say("\(count) bytes are read on \(name(line))")
      // The session knows from the first byte that this is no packet, or has all of one.
      if connection.pointee.inbox[0] != 8 || connection.pointee.inboxRead >= 6 {
        connection.pointee.isDone = true
      }
      return .bytes(count)
    }
    guard connection.pointee.endsAt <= clock else { return .nothing }
    connection.pointee.isDone = true
    if connection.pointee.inboxRead > 0 { met(.cutPackets) }
    say("\(name(line)) is found ended: \(connection.pointee.ending)")
    switch connection.pointee.ending {
    case .goodbye: return .end
    case .broken: return .broken(Failure(APNS_ERR_NETWORK, "the connection broke"))
    case .refusal:
      connection.pointee.isRefused = true
      var failure = Failure(APNS_ERR_TLS, "the peer ended the connection")
      failure.tlsCode = Self.refusalCode
      return .broken(failure)
    }
  }

  /// Alert 42, bad certificate, as this OpenSSL packs it.
  private static let refusalCode: UInt = {
    let code: UInt = 20 << 23 | 1042
    return copenssl_alert(code) == 42 ? code : 20 << 24 | 1042
  }()

  // MARK: Writing

  func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    let connection = lines + line
    guard connection.pointee.phase == .open, !connection.pointee.hasSaidGoodbye else {
      violate("\(name(line)) is written to and not open")
      return .full
    }
    if !call.mayWrite { violate("something is written in a call that only looks") }
    if connection.pointee.isDone { violate("\(name(line)) is written to after its end") }
    if bytes.count == 0 || bytes.count > 16 << 10 { violate("a record of \(bytes.count) bytes") }
    actByTime(line, clock)
    checkPending(line, bytes)
    if connection.pointee.endsAt <= clock {
      // Into the void, until the network says that there is nobody.
      if connection.pointee.ending == .goodbye, !connection.pointee.writesFail {
        connection.pointee.writesFail = dice.below(2) == 0
      } else {
        (connection.pointee.isBroken, connection.pointee.isUnread) = (true, true)
        met(.brokenWrites)
        return .broken(Failure(APNS_ERR_NETWORK, "the connection broke"))
      }
    }
    if connection.pointee.rereadAt > 0 {
      refuse(line, bytes)
      return .needsReading
    }
    if connection.pointee.fullUntil > clock {
      refuse(line, bytes)
      return .full
    }
    if connection.pointee.budget <= 0 {
      met(.stalls)
      let isEndless = dice.below(scenario.stalls + scenario.endlessStalls) < scenario.endlessStalls
      connection.pointee.fullUntil = isEndless ? .max : clock + dice.time(upTo: 5_000_000_000)
      connection.pointee.budget = drawBudget()
      say("\(name(line)) takes no more for a while")
      refuse(line, bytes)
      return .full
    }
    if connection.pointee.pendingCount == 0, !isHealed, dice.happens(scenario.renegotiations) {
      met(.renegotiations)
      connection.pointee.rereadAt = clock + connection.pointee.up + connection.pointee.down + 1
      refuse(line, bytes)
      return .needsReading
    }
    var count = bytes.count
    if connection.pointee.pendingCount > 0 {
      count = min(count, connection.pointee.pendingCount)
    } else if dice.happens(scenario.partialWrites) {
      count = dice.within(1...count)
    }
    connection.pointee.pendingCount = 0
    connection.pointee.refusedSince = 0
    connection.pointee.tookAt = clock
    if connection.pointee.budget != .max { connection.pointee.budget -= count }
    call.vainWaits = 0
    ledger.counts.bytes += count
    ledger.counts.records += 1
    if connection.pointee.isSpare, connection.pointee.offset + connection.pointee.streamCount == 0 {
      met(.sparesUsed)
    }
    say("\(name(line)) takes \(count) of \(bytes.count) bytes")
    receive(line, UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
    return .bytes(count)
  }

  private func refuse(_ line: Int, _ bytes: UnsafeRawBufferPointer) {
    say("\(name(line)) takes none of \(bytes.count) bytes")
    if lines[line].refusedSince == 0 { lines[line].refusedSince = clock }
    guard lines[line].pendingCount == 0 else { return }
    lines[line].pendingCount = bytes.count
    lines[line].pendingSum = Self.sum(bytes)
  }

  /// What TLS was given once comes first again, or it fails.
  private func checkPending(_ line: Int, _ bytes: UnsafeRawBufferPointer) {
    let count = lines[line].pendingCount
    guard count > 0 else { return }
    if bytes.count < count
      || Self.sum(UnsafeRawBufferPointer(rebasing: bytes[0..<count])) != lines[line].pendingSum
    {
      violate("\(name(line)) refused \(count) bytes, and is given others first")
    }
  }

  private static func sum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum: UInt64 = 14_695_981_039_346_656_037
    for byte in bytes { sum = (sum ^ UInt64(byte)) &* 1_099_511_628_211 }
    return sum
  }

  func sayGoodbye(_ line: Int) {
    guard lines[line].phase == .open else { return violate("goodbye on a line that is not open") }
    say("goodbye on \(name(line))")
    lines[line].hasSaidGoodbye = true
    hearGoodbye(line)
  }

  // MARK: Waiting

  func wait(until time: Int64) {
    if !call.mayWait { violate("\(call.name) waits") }
    if time > call.latest {
      violate("\(call.name) would wait \((time - call.latest) / 1000) us beyond its deadline")
    }
    let started = clock
    if traces { sayWatched(time) }
    var wake = max(nextWake(time), clock)
    if wake > clock, dice.happens(scenario.earlyWakes) {
      wake = clock + Int64(dice.below(Int(min(wake - clock, 1 << 40))))
    } else if wake == time {
      // poll() counts in whole ms. That the wait before was too long is no fault of the next.
      let late = Int64(dice.below(1_000_000))
      wake += late
      call.spent += late
    }
    clock = wake
    for line in 0..<Self.mostLines {
      let watched = lines[line].watched
      lines[line].watched = 0
      lines[line].found = watched == 0 ? 0 : watched & ready(line)
    }
    call.vainWaits = clock - started < 1000 ? call.vainWaits + 1 : 0
    if call.vainWaits > 100 { violate("\(call.name) waits again and again for nothing") }
  }

  private func sayWatched(_ time: Int64) {
    let watched = (0..<Self.mostLines).filter { lines[$0].watched != 0 }.map {
      let readable = lines[$0].watched & Readiness.reading.rawValue != 0
      let writable = lines[$0].watched & Readiness.writing.rawValue != 0
      return " \($0)\(readable ? " to read" : "")\(writable ? " to write" : "")"
    }
    say("waits for \((time - clock) / 1000) us or\(watched.joined(separator: ","))")
  }

  /// When the first line is ready for what it is watched for, or that time.
  private func nextWake(_ time: Int64) -> Int64 {
    while true {
      var wake = time
      var whimsical = -1
      for line in 0..<Self.mostLines {
        if lines[line].watched != 0 { wake = min(wake, readyAt(line)) }
        if lines[line].phase == .open,
          whimsical < 0 || lines[line].whimAt < lines[whimsical].whimAt
        {
          whimsical = line
        }
      }
      // What the gateway does until then may come sooner.
      guard whimsical >= 0, lines[whimsical].whimAt <= wake else { return wake }
      actByTime(whimsical, lines[whimsical].whimAt)
    }
  }

  private func readyAt(_ line: Int) -> Int64 {
    let connection = lines + line
    switch connection.pointee.phase {
    case .closed: return .max
    case .opening: return connection.pointee.opensAt
    case .open:
      var time = Int64.max
      if connection.pointee.watched & Readiness.reading.rawValue != 0 {
        time = connection.pointee.readableAt
      }
      if connection.pointee.watched & Readiness.writing.rawValue != 0 {
        time = min(time, connection.pointee.writableAt)
      }
      return time
    }
  }

  private func ready(_ line: Int) -> Int16 {
    let connection = lines + line
    switch connection.pointee.phase {
    case .closed: return 0
    case .opening: return connection.pointee.opensAt <= clock ? ~0 : 0
    case .open:
      return (connection.pointee.readableAt <= clock ? Readiness.reading.rawValue : 0)
        | (connection.pointee.writableAt <= clock ? Readiness.writing.rawValue : 0)
    }
  }
}
