import CAPNS

/// The gateway's end of a connection. It takes bytes as soon as they are written, and
/// keeps apart when they arrive: nothing written later can change what it does by then.
extension World {
  // MARK: Hearing

  /// Bytes that the session was told were written.
  func receive(_ line: Int, _ bytes: UnsafeRawBufferPointer) {
    let connection = lines + line
    connection.pointee.arrival = max(
      connection.pointee.arrival, clock + dice.around(connection.pointee.up))
    actByTime(line, connection.pointee.arrival)
    guard connection.pointee.streamCount + bytes.count <= Connection.room else {
      return violate("a frame without an end on \(name(line))")
    }
    if let start = bytes.baseAddress {
      (connection.pointee.stream + connection.pointee.streamCount).copyMemory(
        from: start, byteCount: bytes.count)
    }
    connection.pointee.streamCount += bytes.count
    let stream = UnsafeRawBufferPointer(
      start: connection.pointee.stream, count: connection.pointee.streamCount)
    var start = 0
    var fault: String?
    while let frame = ReadFrame.read(
      UnsafeRawBufferPointer(rebasing: stream[start...]), command: command, fault: &fault)
    {
      start += frame.length
      connection.pointee.offset += frame.length
      take(line, frame)
      if violation != nil { return }
    }
    if let fault { return violate("\(fault) on \(name(line))") }
    let rest = UnsafeRawBufferPointer(rebasing: stream[start...])
    actByBytes(line, connection.pointee.offset + rest.count)
    if scenario.judgesEarly { judgeAhead(line, rest) }
    if start > 0, rest.count > 0 {
      connection.pointee.stream.copyMemory(from: stream.baseAddress! + start, byteCount: rest.count)
    }
    connection.pointee.streamCount = rest.count
  }

  private var command: UInt8 {
    switch scenario.given.format {
    case Int32(APNS_FORMAT_SIMPLE.rawValue): 0
    case Int32(APNS_FORMAT_ENHANCED.rawValue): 1
    default: 2
    }
  }

  private func take(_ line: Int, _ frame: ReadFrame) {
    if frame.token.count == 0 { return takeSentinel(line, frame) }
    let connection = lines + line
    guard let number = Token.number(frame.token), number < ledger.counts.taken else {
      return violate("a notification of nobody on \(name(line))")
    }
    check(line, frame, number)
    ledger.sent[number].carrier = connection.pointee.serial
    connection.pointee.frames += 1
    connection.pointee.lastNumber = number
    actByBytes(line, connection.pointee.offset)
    if !connection.pointee.isDeaf { judge(line, number) }
  }

  /// The frame is the one that was sent, in its place, on its lane.
  private func check(_ line: Int, _ frame: ReadFrame, _ number: Int) {
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
    if line / 2 != sent.lane { violate("\(number) of lane \(sent.lane) goes out on line \(line)") }
    let last = lines[line].lastNumber
    if last >= number { violate("\(number) after \(last) on \(name(line))") }
    if sent.told != .none { violate("\(number) is written after its end was told") }
    guard scenario.isExact else { return }
    if sent.due != .none { violate("\(number) is written after its end") }
    let due = last < 0 ? ledger.lanes[sent.lane].first : ledger.sent[last].next
    if number != due { violate("\(number) is written where \(due) is due, on \(name(line))") }
  }

  private func takeSentinel(_ line: Int, _ frame: ReadFrame) {
    let connection = lines + line
    say("\(name(line)) has the sentinel \(frame.identifier ?? 0)")
    if scenario.isQuiet || scenario.isSimple { violate("a sentinel where there is to be none") }
    if connection.pointee.hasSentinel { violate("two sentinels on \(name(line))") }
    if connection.pointee.frames == 0 { violate("a sentinel with nothing to prove") }
    guard let identifier = frame.identifier, identifier != 0,
      identifier != ledger.sent[connection.pointee.lastNumber].identifier
    else { return violate("a sentinel without an identifier of its own") }
    connection.pointee.hasSentinel = true
    met(.sentinels)
    actByBytes(line, connection.pointee.offset)
    if connection.pointee.isDeaf { return }
    let status = dice.pick(scenario.sentinelStatuses)
    let before = connection.pointee.frames
    if dice.happens(scenario.namelessSentinels) {
      answer(line, status, 0, .answers(before, status: status))
    } else {
      answer(line, status, identifier, .proves(before))
    }
  }

  // MARK: Judging

  private func judge(_ line: Int, _ number: Int) {
    let connection = lines + line
    switch ledger.sent[number].fate {
    case .good: accept(line, number)
    case .killer:
      say("\(name(line)) is killed by \(number)")
      connection.pointee.isDeaf = true
      end(line, at: connection.pointee.arrival)
    case .bad(let status):
      reject(line, number, status, ledger.sent[number].identifier, before: lines[line].frames - 1)
    case .namelessBad(let status):
      if scenario.isSimple, dice.below(2) == 0 {
        connection.pointee.isDeaf = true
        end(line, at: connection.pointee.arrival)
      } else {
        answer(line, status, 0, .nothing)
      }
    }
  }

  private func reject(
    _ line: Int, _ number: Int, _ status: UInt8, _ identifier: UInt32, before: Int
  ) {
    ledger.sent[number].wasRejected = true
    answer(line, status, identifier, .rejects(after: before, status: status))
  }

  private func accept(_ line: Int, _ number: Int) {
    let connection = lines + line
    let sent = ledger.sent + number
    if sent.pointee.acceptor >= 0 {
      met(.duplicates)
      say("\(number) is accepted again on \(name(line))")
      checkDuplicate(number)
    }
    sent.pointee.acceptor = connection.pointee.serial
    connection.pointee.accepted += 1
    connection.pointee.lastAccepted = sent.pointee.identifier
  }

  /// Sending again is only for what an ambiguous end left in doubt.
  private func checkDuplicate(_ number: Int) {
    if !resends { return violate("\(number) is accepted twice, which it never was to be") }
    switch ledger.results[ledger.sent[number].acceptor] {
    case .ambiguous: break
    case let result:
      violate("\(number) is accepted twice, though its first connection \(result)")
    }
  }

  /// The option, with its default.
  var resends: Bool {
    switch UInt32(bitPattern: scenario.given.ambiguous) {
    case APNS_AMBIGUOUS_RESEND.rawValue: true
    case APNS_AMBIGUOUS_REPORT.rawValue: false
    default: !scenario.isSimple
    }
  }

  /// An enhanced frame is at fault from its token on: the rest may never come.
  private func judgeAhead(_ line: Int, _ rest: UnsafeRawBufferPointer) {
    guard !lines[line].isDeaf, let number = ReadFrame.numberAhead(rest),
      number < ledger.counts.taken, case .bad(let status) = ledger.sent[number].fate
    else { return }
    reject(line, number, status, ledger.sent[number].identifier, before: lines[line].frames)
  }

  // MARK: Whims

  /// What its whim says for a time that has come.
  func actByTime(_ line: Int, _ time: Int64) {
    if lines[line].whimAt <= time { act(line, at: lines[line].whimAt) }
  }

  private func actByBytes(_ line: Int, _ count: Int) {
    if lines[line].whimAfter < count { act(line, at: lines[line].arrival) }
  }

  private func act(_ line: Int, at time: Int64) {
    let connection = lines + line
    let whim = connection.pointee.whim
    (connection.pointee.whim, connection.pointee.whimAt) = (.serve, .max)
    connection.pointee.whimAfter = .max
    guard !connection.pointee.isDeaf else { return }
    say("the gateway of \(name(line)) will \(whim)")
    connection.pointee.arrival = max(connection.pointee.arrival, time)
    switch whim {
    case .serve: return
    case .end: end(line, at: time)
    case .shutDown:
      if let last = connection.pointee.lastAccepted, !scenario.isSimple {
        answer(
          line, ErrorPacket.shutdown, last, .proves(connection.pointee.accepted), at: time)
      } else {
        answer(line, ErrorPacket.shutdown, 0, .nothing, at: time)
      }
    case .nameStranger:
      connection.pointee.namesStranger = true
      answer(line, dice.pick([8, 10, 2]), stranger(line), .nothing, at: time)
    case .nameNobody(let status): answer(line, status, 0, .nothing, at: time)
    case .talkNoise: talkNoise(line, at: time)
    case .vanish:
      connection.pointee.endsAt = time + dice.time(upTo: 120_000_000_000) + connection.pointee.down
      connection.pointee.ending = .broken
    }
    connection.pointee.isDeaf = true
  }

  /// An identifier that means nothing on this connection, nor will.
  private func stranger(_ line: Int) -> UInt32 {
    let lane = line / 2
    let taken = ledger.counts.taken
    // One of another lane, or one that has its end.
    for _ in 0..<4 where taken > 0 {
      let other = ledger.sent[dice.below(taken)]
      if other.lane != lane || other.told != .none { return other.identifier }
    }
    return scenario.firstIdentifier &+ 0x4000_0000 &+ UInt32(dice.below(1 << 20))
  }

  // MARK: Speaking

  /// Sends an error packet by what just arrived, and looks at nothing more.
  private func answer(
    _ line: Int, _ status: UInt8, _ identifier: UInt32, _ word: Word, at time: Int64? = nil
  ) {
    let connection = lines + line
    connection.pointee.isDeaf = true
    connection.pointee.word = word
    let sent =
      (time ?? connection.pointee.arrival) + dice.time(upTo: scenario.answerDelayMax)
    var packet = ErrorPacketBytes(status, identifier)
    var count = 6
    if dice.happens(isHealed ? 0 : scenario.cutPackets) {
      count = dice.below(6)
    } else if dice.below(20) == 0 {
      // What follows it is nobody's to read.
      for index in 6..<16 { packet.bytes[index] = UInt8(truncatingIfNeeded: dice.next()) }
      count = 16
    }
    say("the gateway of \(name(line)) answers \(status) for \(identifier), \(count) bytes")
    deliver(line, packet.bytes, count, from: sent)
    connection.pointee.hasWord = count >= 6
  }

  private func talkNoise(_ line: Int, at time: Int64) {
    var noise = InlineArray<16, UInt8>(repeating: 0)
    for index in 0..<16 { noise[index] = UInt8(truncatingIfNeeded: dice.next()) }
    if noise[0] == 8 { noise[0] = 9 }
    deliver(line, noise, dice.within(1...16), from: time)
  }

  /// Bytes on their way, in pieces or in one, and the end behind them.
  private func deliver(
    _ line: Int, _ bytes: InlineArray<16, UInt8>, _ count: Int, from time: Int64
  ) {
    let connection = lines + line
    var arrival = time + dice.around(connection.pointee.down)
    let splits = dice.below(3) == 0 ? dice.within(1...3) : 0
    let piece = splits > 0 ? dice.within(1...5) : 16
    for index in 0..<count {
      if index > 0, index % piece == 0 {
        arrival += dice.time(upTo: scenario.splitDelayMax / 16)
      }
      connection.pointee.inbox[index] = bytes[index]
      connection.pointee.arrivals[index] = arrival
    }
    (connection.pointee.inboxCount, connection.pointee.inboxRead) = (count, 0)
    connection.pointee.endsAt = arrival + dice.time(upTo: scenario.endGapMax)
    drawEnding(line)
  }

  /// The connection is ended without a word.
  private func end(_ line: Int, at time: Int64) {
    lines[line].endsAt = min(lines[line].endsAt, time + lines[line].down)
    drawEnding(line)
  }

  private func drawEnding(_ line: Int) {
    if lines[line].ending != .refusal {
      lines[line].ending = dice.below(2) == 0 ? .goodbye : .broken
    }
  }

  /// The session said goodbye: what arrived is answered, then the gateway ends it too.
  func hearGoodbye(_ line: Int) {
    let connection = lines + line
    let arrival = max(connection.pointee.arrival, clock + connection.pointee.up)
    actByTime(line, arrival)
    guard !connection.pointee.isDeaf else { return }
    connection.pointee.isDeaf = true
    if isHealed || dice.below(8) > 0 { end(line, at: arrival) }
  }
}

/// An error packet's bytes, with room for what follows it.
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
