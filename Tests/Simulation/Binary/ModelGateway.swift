import CAPNS

/// The gateway's end of a connection. It receives bytes as soon as they are written and records
/// separately when they arrive, so nothing written later can change what it has done by then.
extension World {
  // MARK: Hearing

  /// Receives bytes that the session counts as written.
  func receive(_ line: Int, _ bytes: UnsafeRawBufferPointer) {
    let connection = lines[line]
    if connection.isStandby, connection.offset + connection.streamCount == 0 { met(.sparesUsed) }
    let channel = line / 2
    if connection.firstWrite < 0 {
      connection.firstWrite = clock
      if connection.everRefused { ledger.channels[channel].wasFull = true }
    }
    checkWriting(line)
    if ledger.channels[channel].unprovenSince < 0 { ledger.channels[channel].unprovenSince = clock }
    connection.arrival = max(connection.arrival, clock + dice.around(connection.up))
    act(line, until: connection.arrival)
    guard connection.streamCount + bytes.count <= BinaryLink.room else {
      return violate("a frame without an end on \(connection)")
    }
    if let start = bytes.baseAddress {
      (connection.stream + connection.streamCount).copyMemory(from: start, byteCount: bytes.count)
    }
    connection.streamCount += bytes.count
    let stream = UnsafeRawBufferPointer(start: connection.stream, count: connection.streamCount)
    var start = 0
    var fault: String?
    while let frame = ReadFrame.read(
      UnsafeRawBufferPointer(rebasing: stream[start...]), command: command, fault: &fault)
    {
      start += frame.length
      connection.offset += frame.length
      take(connection, frame)
      if violation != nil { return }
    }
    if let fault { return violate("\(fault) on \(connection)") }
    let rest = UnsafeRawBufferPointer(rebasing: stream[start...])
    actByBytes(connection, connection.offset + rest.count)
    if scenario.validatesEarly { validateAhead(connection, rest) }
    if start > 0, rest.count > 0 {
      connection.stream.copyMemory(from: stream.baseAddress! + start, byteCount: rest.count)
    }
    connection.streamCount = rest.count
  }

  private var command: UInt8 {
    switch given.binary.format {
    case Int32(APNS_FORMAT_SIMPLE.rawValue): 0
    case Int32(APNS_FORMAT_ENHANCED.rawValue): 1
    default: 2
    }
  }

  private func take(_ connection: BinaryLink, _ frame: ReadFrame) {
    if frame.token.count == 0 { return takeSentinel(connection, frame) }
    guard let number = Token.number(frame.token), number < ledger.counts.taken else {
      return violate("a notification of nobody on \(connection)")
    }
    check(connection, frame, number)
    if connection.hasSentinel { violate("\(number) behind the sentinel on \(connection)") }
    if connection.offset - frame.length >= connection.heldFrom {
      violate("\(number) on \(connection), whose credentials were replaced")
    }
    if ledger.sent[number].isCancelled,
      connection.offset - frame.length >= ledger.cancelledFrom[number]?[connection.serial] ?? 0
    {
      violate("\(number) is written on \(connection), and was cancelled")
    }
    if ledger.sent[number].doubts >= 5 { violate("\(number) is written a sixth time") }
    ledger.sent[number].carrier = connection.serial
    connection.frames += 1
    connection.lastNumber = number
    actByBytes(connection, connection.offset)
    if !connection.isDeaf { validate(connection, number) }
  }

  /// Checks that the frame is as sent, in its place and on its channel.
  private func check(_ connection: BinaryLink, _ frame: ReadFrame, _ number: Int) {
    let sent = ledger.sent[number]
    if frame.token.count != sent.tokenLength || frame.payload.count != sent.payloadLength
      || !Token.isWhole(number, frame.token)
      || !Token.isPayload(number, frame.payload)
    {
      violate("\(number) is written with other bytes")
    }
    switch command {
    case 0: break
    case 1:
      if frame.identifier != sent.identifier || frame.expiry != sent.expiry ?? 0 {
        violate("\(number) is written with another identifier or expiry")
      }
    default:
      if frame.identifier != sent.identifier || frame.expiry != sent.expiry
        || frame.priority != sent.priority
      {
        violate("\(number) is written with another identifier, expiry or priority")
      }
    }
    if connection.line / 2 != sent.channel {
      violate("\(number) of channel \(sent.channel) goes out on line \(connection.line)")
    }
    let last = connection.lastNumber
    if last >= number { violate("\(number) after \(last) on \(connection)") }
    // TLS still writes bytes that it already had, though a push did not wait for them; the check
    // above covers whether it had them.
    if sent.told != .none, !(sent.told == .unknown && (sent.isCancelled || isDue(number))) {
      violate("\(number) is written after its event")
    }
    guard scenario.isExact else { return }
    if sent.due != .none { violate("\(number) is written after its end") }
    let due = last < 0 ? ledger.channels[sent.channel].first : ledger.sent[last].next
    if number != due {
      violate("\(number) is written where \(due) is due, on \(connection)")
    }
  }

  private func takeSentinel(_ connection: BinaryLink, _ frame: ReadFrame) {
    say("\(connection) has the sentinel \(frame.identifier ?? 0)")
    if scenario.isQuiet || scenario.isSimple { violate("a sentinel, against the options") }
    if connection.hasSentinel { violate("two sentinels on \(connection)") }
    let channel = connection.line / 2
    if connection.frames == 0, !ledger.channels[channel].wasRefused {
      violate("a sentinel with nothing to prove")
    }
    if scenario.isExact, !isProofDue(channel), !ledger.isInDoubt(channel) {
      violate("a sentinel that nobody wants")
    }
    guard let identifier = frame.identifier, identifier != 0,
      connection.lastNumber < 0
        || identifier != ledger.sent[connection.lastNumber].identifier
    else { return violate("a sentinel with no identifier, or with that of the last frame") }
    connection.hasSentinel = true
    met(.sentinels)
    actByBytes(connection, connection.offset)
    if connection.isDeaf { return }
    let status = dice.pick(scenario.sentinelStatuses)
    let before = connection.frames
    if dice.happens(scenario.namelessSentinels) {
      answer(connection, status, 0, .answers(before, status: status))
    } else {
      answer(connection, status, identifier, .proves(before))
    }
  }

  // MARK: Validating

  private func validate(_ connection: BinaryLink, _ number: Int) {
    switch ledger.sent[number].planned {
    case .good: accept(connection, number)
    case .killer:
      say("\(connection) is killed by \(number)")
      connection.isDeaf = true
      end(connection, at: connection.arrival)
    case .bad(let status):
      reject(
        connection, number, status, ledger.sent[number].identifier, before: connection.frames - 1)
    case .namelessBad(let status):
      if scenario.isSimple, dice.below(2) == 0 {
        connection.isDeaf = true
        end(connection, at: connection.arrival)
      } else {
        answer(connection, status, 0, .nothing)
      }
    }
  }

  private func reject(
    _ connection: BinaryLink, _ number: Int, _ status: UInt8, _ identifier: UInt32, before: Int
  ) {
    ledger.sent[number].wasRejected = true
    answer(connection, status, identifier, .rejects(after: before, status: status))
  }

  private func accept(_ connection: BinaryLink, _ number: Int) {
    let sent = ledger.sent + number
    if sent.pointee.acceptor >= 0 {
      met(.duplicates)
      say("\(number) is accepted again on \(connection)")
      checkDuplicate(number)
    }
    sent.pointee.acceptor = connection.serial
    connection.accepted += 1
    connection.lastAccepted = sent.pointee.identifier
  }

  /// Only a notification that an ambiguous end left in doubt may be resent.
  private func checkDuplicate(_ number: Int) {
    if !resends { return violate("\(number) is accepted twice, which it never was to be") }
    switch ledger.results[ledger.sent[number].acceptor] {
    case .ambiguous: break
    case let result:
      violate("\(number) is accepted twice, though its first connection \(result)")
    }
  }

  /// Without proof nothing is resent.
  var resends: Bool { given.session.delivery == 0 && (!scenario.isSimple || scenario.isQuiet) }

  /// An enhanced frame can be validated from its token on, because the rest may never arrive.
  private func validateAhead(_ connection: BinaryLink, _ rest: UnsafeRawBufferPointer) {
    guard !connection.isDeaf, let number = ReadFrame.numberAhead(rest),
      number < ledger.counts.taken, case .bad(let status) = ledger.sent[number].planned
    else { return }
    reject(connection, number, status, ledger.sent[number].identifier, before: connection.frames)
  }

  // MARK: Fault plan

  /// Does what its fault plan has for a time that has come.
  func act(_ line: Int, until time: Int64) {
    if lines[line].faultPlanAt <= time { act(lines[line], at: lines[line].faultPlanAt) }
  }

  private func actByBytes(_ connection: BinaryLink, _ count: Int) {
    if connection.faultPlanAfter < count { act(connection, at: connection.arrival) }
  }

  private func act(_ connection: BinaryLink, at time: Int64) {
    let faultPlan = connection.faultPlan
    (connection.faultPlan, connection.faultPlanAt) = (.serve, .max)
    connection.faultPlanAfter = .max
    guard !connection.isDeaf else { return }
    say("the gateway of \(connection) will \(faultPlan)")
    connection.arrival = max(connection.arrival, time)
    switch faultPlan {
    case .serve: return
    case .end: end(connection, at: time)
    case .shutDown:
      if let last = connection.lastAccepted, !scenario.isSimple {
        answer(connection, ErrorPacket.shutdown, last, .proves(connection.accepted), at: time)
      } else {
        answer(connection, ErrorPacket.shutdown, 0, .nothing, at: time)
      }
    case .nameStranger:
      connection.namesStranger = true
      answer(connection, dice.pick([8, 10, 2]), stranger(connection), .nothing, at: time)
    case .nameNobody(let status): answer(connection, status, 0, .nothing, at: time)
    case .talkNoise: talkNoise(connection, at: time)
    case .vanish:
      connection.endsAt = time + dice.time(upTo: 120_000_000_000) + connection.down
      connection.ending = .broken
    }
    connection.isDeaf = true
  }

  /// An identifier that means nothing on this connection and never will.
  private func stranger(_ connection: BinaryLink) -> UInt32 {
    let channel = connection.line / 2
    let taken = ledger.counts.taken
    // An identifier of another channel, or of a notification that has its outcome. An abandoned
    // push is reported as unknown, and may still be in flight.
    for _ in 0..<4 where taken > 0 {
      let other = ledger.sent[dice.below(taken)]
      if other.channel != channel || ![.none, .unknown].contains(other.told) {
        return other.identifier
      }
    }
    return scenario.firstIdentifier &+ 0x4000_0000 &+ UInt32(dice.below(1 << 20))
  }

  // MARK: Speaking

  /// Sends an error packet about the frame that just arrived, and ignores everything after it.
  private func answer(
    _ connection: BinaryLink, _ status: UInt8, _ identifier: UInt32, _ word: Word,
    at time: Int64? = nil
  ) {
    connection.isDeaf = true
    connection.word = word
    let sent = (time ?? connection.arrival) + dice.time(upTo: scenario.answerDelayMax)
    var packet = ErrorPacketBytes(status, identifier)
    var count = 6
    if dice.happens(isHealed ? 0 : scenario.cutPackets) {
      count = dice.below(6)
    } else if dice.below(20) == 0 {
      // The session should not read what follows the packet.
      for index in 6..<16 { packet.bytes[index] = UInt8(truncatingIfNeeded: dice.next()) }
      count = 16
    }
    say(
      "the gateway of \(connection) answers \(status) for \(identifier), \(count) bytes")
    deliver(connection, packet.bytes, count, from: sent)
    connection.hasWord = count >= 6
  }

  private func talkNoise(_ connection: BinaryLink, at time: Int64) {
    var noise = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<16 { noise[index] = UInt8(truncatingIfNeeded: dice.next()) }
    if noise[0] == 8 { noise[0] = 9 }
    deliver(connection, noise, dice.within(1...16), from: time)
  }

  /// Sends bytes, in pieces or in one, and the end of the connection after them.
  private func deliver(
    _ connection: BinaryLink, _ bytes: InlineArray<16, UInt8>, _ count: Int, from time: Int64
  ) {
    var arrival = time + dice.around(connection.down)
    let splits = dice.below(3) == 0 ? dice.within(1...3) : 0
    let piece = splits > 0 ? dice.within(1...5) : 16
    for index in 0..<count {
      if index > 0, index % piece == 0 {
        arrival += dice.time(upTo: scenario.splitDelayMax / 16)
      }
      connection.inbox[index] = bytes[index]
      connection.arrivals[index] = arrival
    }
    (connection.inboxCount, connection.inboxRead) = (count, 0)
    connection.endsAt = arrival + dice.time(upTo: scenario.endGapMax)
    drawEnding(connection)
  }

  /// Ends the connection without an error packet.
  private func end(_ connection: BinaryLink, at time: Int64) {
    connection.endsAt = min(connection.endsAt, time + connection.down)
    drawEnding(connection)
  }

  private func drawEnding(_ connection: BinaryLink) {
    if connection.ending != .refusal {
      connection.ending = dice.below(2) == 0 ? .goodbye : .broken
    }
  }

  /// The session sent close_notify: the gateway answers the frames that have arrived and then ends
  /// the connection too.
  func hearGoodbye(_ line: Int) {
    let connection = lines[line]
    let arrival = max(connection.arrival, clock + connection.up)
    act(line, until: arrival)
    guard !connection.isDeaf else { return }
    connection.isDeaf = true
    if isHealed || dice.below(8) > 0 { end(connection, at: arrival) }
  }
}

/// The bytes of an error packet, with room for noise after it.
private struct ErrorPacketBytes {
  var bytes = InlineArray<16, UInt8>(repeating: 0)

  init(_ status: UInt8, _ identifier: UInt32) {
    bytes[0] = 8
    bytes[1] = status
    for index in 0..<4 {
      bytes[2 + index] = UInt8(truncatingIfNeeded: identifier >> (24 - 8 * UInt32(index)))
    }
  }
}
