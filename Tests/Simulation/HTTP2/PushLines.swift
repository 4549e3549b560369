import CAPNS
import COpenSSL

/// The session's end of the connections: opening, reading, writing, waiting.
extension PushWorld {
  // MARK: Opening

  func open(_ line: Int, isSpare: Bool, by deadline: Int64) throws(Failure) {
    let connection = lines[line]
    if connection.phase != .closed {
      return violate("a connection is begun on \(name(line)), which has one")
    }
    if !call.mayWrite { violate("a connection is begun in a call that only looks") }
    if isSpare { violate("a spare connection, by HTTP/2") }
    if lines.count(where: { $0.phase != .closed && !$0.isSettling }) >= Int(given.connections) {
      violate("one connection more than \(given.connections)")
    }
    call.vainWaits = 0
    if isAnsweredEarly { cameToSomething() }
    if !isHealed, dice.happens(scenario.failingOpens / 4) {
      checkOpening(counts: false)
      pauseForNothing()
      met(.refusedConnects)
      throw Failure(APNS_ERR_NETWORK, "no way there")
    }
    checkOpening(counts: true)
    met(.connections)
    connection.close()
    connection.serial = ledger.connections
    ledger.connections += 1
    connection.phase = .opening
    connection.isSound = isHealed
    connection.openingEnds = deadline
    connection.up = dice.time(upTo: scenario.delayMax)
    connection.down = dice.time(upTo: scenario.delayMax)
    let longest =
      isHealed ? min(scenario.openingMax, (deadline - clock) / 2) : scenario.openingMax
    connection.opensAt = clock + dice.time(upTo: longest)
    connection.opensWell = isHealed || !dice.happens(scenario.failingOpens)
    if !isHealed, dice.happens(scenario.hangingOpens) { connection.opensAt = .max }
    say("\(name(line)) is begun")
  }

  func advance(_ line: Int) throws(Failure) -> Opening {
    let connection = lines[line]
    if connection.phase == .closed { violate("a line is advanced that has no connection") }
    if connection.phase == .open { return .open }
    if clock >= connection.openingEnds {
      met(.openingTimeouts)
      throw openingFailed(line, Failure(APNS_ERR_TIMEOUT, "the handshake took too long"))
    }
    guard clock >= connection.opensAt else {
      let readiness: Readiness = line & 1 == 0 ? .reading : .writing
      return .waits(readiness, until: connection.openingEnds)
    }
    guard connection.opensWell else {
      met(.failedHandshakes)
      throw openingFailed(line, Failure(APNS_ERR_TLS, "the handshake failed"))
    }
    connection.phase = .open
    (connection.openedAt, connection.lastRead) = (clock, clock)
    connection.budget = drawBudget()
    connection.found = 0
    call.vainWaits = 0
    ledger.connects += 1
    say("\(name(line)) is open, \(connection.up / 1000) us to the service")
    connection.beginService()
    return .open
  }

  private func openingFailed(_ line: Int, _ failure: Failure) -> Failure {
    say("\(name(line)) does not open")
    pauseForNothing()
    return failure
  }

  private func drawBudget() -> Int {
    !isHealed && dice.happens(scenario.stalls + scenario.endlessStalls)
      ? dice.below(dice.pick([100, 3000, 30_000])) : .max
  }

  // MARK: Reading

  func hasNews(_ line: Int) -> Bool {
    bringUp(line)
    return lines[line].phase == .open && lines[line].readableAt(clock) <= clock
  }

  func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    let connection = lines[line]
    guard connection.phase == .open else {
      violate("\(name(line)) is read and not open")
      return .end
    }
    if connection.isDone { violate("\(name(line)) is read on after its end") }
    connection.isUnread = false
    bringUp(line)
    if connection.rereadAt > 0, connection.rereadAt <= clock {
      connection.rereadAt = 0
      call.vainWaits = 0
    }
    let isLost = connection.losesUnread && connection.endsAt <= clock
    var count = isLost ? 0 : min(connection.available(at: clock), buffer.count)
    if count > 1, dice.happens(scenario.partialReads) { count = dice.within(1...count) }
    if count > 0, let target = buffer.baseAddress {
      connection.bytes.withUnsafeBytes {
        target.copyMemory(from: $0.baseAddress! + connection.bytesRead, byteCount: count)
      }
      connection.bytesRead += count
      call.vainWaits = 0
      connection.lastRead = clock
      say("\(count) bytes are read on \(name(line))")
      noteMarks(connection)
      return .bytes(count)
    }
    guard connection.endsAt <= clock else { return .nothing }
    connection.isDone = true
    say("\(name(line)) is found ended: \(connection.ending)")
    switch connection.ending {
    case .goodbye: return .end
    case .broken: return .broken(Failure(APNS_ERR_NETWORK, "the connection broke"))
    case .refusal:
      connection.isRefused = true
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
    let connection = lines[line]
    guard connection.phase == .open, !connection.hasSaidGoodbye else {
      violate("\(name(line)) is written to and not open")
      return .full
    }
    if connection.isDone { violate("\(name(line)) is written to after its end") }
    if bytes.count == 0 || bytes.count > 16 << 10 { violate("a record of \(bytes.count) bytes") }
    bringUp(line)
    checkPending(connection, bytes)
    if connection.endsAt <= clock {
      // Into the void, until the network says that there is nobody.
      connection.mayHideRequests = true
      if connection.ending == .goodbye, !connection.writesFail {
        connection.writesFail = dice.below(2) == 0
      } else {
        (connection.isBroken, connection.isUnread) = (true, true)
        met(.brokenWrites)
        return .broken(Failure(APNS_ERR_NETWORK, "the connection broke"))
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
      let isEndless = dice.below(scenario.stalls + scenario.endlessStalls) < scenario.endlessStalls
      connection.fullUntil = isEndless ? .max : clock + dice.time(upTo: 5_000_000_000)
      connection.budget = drawBudget()
      say("\(name(line)) takes no more for a while")
      refuse(connection, bytes)
      return .full
    }
    if connection.pendingCount == 0, !isHealed, dice.happens(scenario.renegotiations) {
      met(.renegotiations)
      connection.rereadAt = clock + connection.up + connection.down + 1
      refuse(connection, bytes)
      return .needsReading
    }
    var count = bytes.count
    if connection.pendingCount > 0 {
      count = min(count, connection.pendingCount)
    } else if dice.happens(scenario.partialWrites) {
      count = dice.within(1...count)
    }
    connection.pendingCount = 0
    connection.refusedSince = 0
    if connection.budget != .max { connection.budget -= count }
    // Some of a request may be in it whose rest is yet to come.
    connection.mayHideRequests =
      connection.isDeaf || count < bytes.count || count == 16 << 10
    call.vainWaits = 0
    ledger.bytes += count
    ledger.records += 1
    say("\(name(line)) takes \(count) of \(bytes.count) bytes")
    connection.receive(UnsafeRawBufferPointer(rebasing: bytes[0..<count]))
    return .bytes(count)
  }

  private func refuse(_ connection: PushConnection, _ bytes: UnsafeRawBufferPointer) {
    say("\(name(connection.line)) takes none of \(bytes.count) bytes")
    if connection.refusedSince == 0 { connection.refusedSince = clock }
    (connection.everRefused, connection.mayHideRequests) = (true, true)
    guard connection.pendingCount == 0 else { return }
    connection.pendingCount = bytes.count
    connection.pendingSum = Self.sum(bytes)
  }

  /// What TLS was given once comes first again, or it fails.
  private func checkPending(_ connection: PushConnection, _ bytes: UnsafeRawBufferPointer) {
    let count = connection.pendingCount
    guard count > 0 else { return }
    if bytes.count < count
      || Self.sum(UnsafeRawBufferPointer(rebasing: bytes[0..<count])) != connection.pendingSum
    {
      violate("\(name(connection.line)) refused \(count) bytes, and is given others first")
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
  }

  // MARK: Waiting

  func wait(until time: Int64) {
    if !call.mayWait { violate("\(call.name) waits") }
    if time > call.latest {
      violate("\(call.name) would wait \((time - call.latest) / 1000) us beyond its deadline")
    }
    checkWatching(time)
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
    for connection in lines {
      let watched = connection.watched
      connection.watched = 0
      connection.found = watched == 0 ? 0 : watched & ready(connection)
    }
    call.vainWaits = clock - started < 2_000_000 ? call.vainWaits + 1 : 0
    if call.vainWaits > 100 { violate("\(call.name) waits again and again for nothing") }
  }

  /// An answer that is owed is not awaited for longer than the options say.
  private func checkWatching(_ time: Int64) {
    guard time - clock > answerTimeout + 1_000_000_000 else { return }
    for connection in lines where connection.phase == .open && connection.openRequests > 0 {
      violate("\(call.name) waits \((time - clock) / 1000) us for \(name(connection.line))")
    }
  }

  private func sayWatched(_ time: Int64) {
    let watched = lines.filter { $0.watched != 0 }.map {
      let readable = $0.watched & Readiness.reading.rawValue != 0
      let writable = $0.watched & Readiness.writing.rawValue != 0
      return " \($0.line)\(readable ? " to read" : "")\(writable ? " to write" : "")"
    }
    say("waits for \((time - clock) / 1000) us or\(watched.joined(separator: ","))")
  }

  /// When the first line is ready for what it is watched for, or that time.
  private func nextWake(_ time: Int64) -> Int64 {
    while true {
      var wake = time
      var next: PushConnection?
      for connection in lines where connection.phase != .closed {
        if connection.watched != 0 { wake = min(wake, readyAt(connection)) }
        if connection.agenda.next < next?.agenda.next ?? .max { next = connection }
      }
      // What the service does until then may come sooner.
      guard let next, next.agenda.next <= wake else { return wake }
      next.act(until: next.agenda.next)
    }
  }

  private func readyAt(_ connection: PushConnection) -> Int64 {
    switch connection.phase {
    case .closed: return .max
    case .opening: return connection.opensAt
    case .open:
      var time = Int64.max
      if connection.watched & Readiness.reading.rawValue != 0 {
        time = connection.readableAt(clock)
      }
      if connection.watched & Readiness.writing.rawValue != 0 {
        time = min(time, connection.writableAt)
      }
      return time
    }
  }

  private func ready(_ connection: PushConnection) -> Int16 {
    switch connection.phase {
    case .closed: return 0
    case .opening: return connection.opensAt <= clock ? ~0 : 0
    case .open:
      return (connection.readableAt(clock) <= clock ? Readiness.reading.rawValue : 0)
        | (connection.writableAt <= clock ? Readiness.writing.rawValue : 0)
    }
  }
}
