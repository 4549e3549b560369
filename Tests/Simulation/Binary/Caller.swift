import CAPNS

/// Who uses the session: sends, waits, asks, takes its events, and checks every answer.
struct Caller: ~Copyable {
  private let world: World
  private var session: Session<FakeNetwork<World>>
  private let connectTimeout: Int64
  private let bothTimeouts: Int64
  private var lastIdentifier: UInt32 = 0
  private static let millisecond: Int64 = 1_000_000

  init(
    _ world: World, _ options: SessionOptions, _ session: consuming Session<FakeNetwork<World>>
  ) {
    self.world = world
    self.session = session
    connectTimeout = options.connectTimeout
    bothTimeouts = options.connectTimeout + options.writeTimeout
  }

  static func make(_ world: World) throws(Failure) -> Caller {
    let options = try SessionOptions(world.scenario.given)
    return Caller(
      world, options,
      try Session.make(
        options, network: FakeNetwork(world: world),
        firstIdentifier: world.scenario.firstIdentifier))
  }

  /// One run from its first send to the last event.
  mutating func play() {
    for _ in 0..<world.scenario.actions {
      act()
      if world.violation != nil { return }
    }
    switch world.dice.below(10) {
    case 0: return world.met(.frees)
    case 1...2: close(isDrained: false)
    default:
      world.isHealed = true
      world.say("faults are over")
      drainWhole()
      if world.violation != nil { return }
      if world.dice.below(2) == 0 { takeEvents() }
      close(isDrained: true)
    }
    if world.violation == nil { takeEvents() }
    if world.violation == nil { checkEnds() }
  }

  private mutating func act() {
    switch world.dice.below(100) {
    case 0..<30:
      for _ in 0..<world.dice.within(1...world.dice.pick([1, 20])) { sendOne() }
    case 30..<45: sendMany(world.dice.within(1...world.dice.pick([3, 40, 300])))
    case 45..<52: flush()
    case 52..<60: drain(milliseconds: world.dice.pick([0, 1, 50, 1000, 30_000, -1]))
    case 60..<70: nextEvent(milliseconds: 0)
    case 70..<78: nextEvent(milliseconds: world.dice.pick([1, 20, 500, 10_000, -1]))
    case 78..<86: takeEvents()
    case 86..<88: connect()
    default:
      let time = world.dice.time(
        upTo: world.dice.pick([10_000_000, 3_000_000_000, 90_000_000_000]))
      world.say("the caller does other things for \(time / 1000) us")
      world.clock += time
    }
    checkStats()
  }

  // MARK: Sending

  /// As apns_session_send() does.
  private mutating func sendOne() {
    guard !world.ledger.isFull else { return }
    world.met(.singles)
    let isMore = world.dice.below(3) == 0
    world.beginCall("send", lasting: connectTimeout + 2 * bothTimeouts)
    defer { world.endCall() }
    guard take() else { return }
    if isMore, !session.hasFullRecord { return }
    world.expecting { () throws(Failure) in try session.write(all: !isMore) }
  }

  /// As apns_session_send_many() does.
  private mutating func sendMany(_ count: Int) {
    world.met(.arrays)
    let isMore = world.dice.below(3) == 0
    world.beginCall(
      "send_many", lasting: (connectTimeout + bothTimeouts) * Int64(count) + bothTimeouts)
    defer { world.endCall() }
    for _ in 0..<count {
      guard !world.ledger.isFull, take() else { break }
      if session.hasFullRecord {
        world.expecting { () throws(Failure) in try session.write(all: false) }
      }
    }
    if isMore, !session.hasFullRecord { return }
    world.expecting { () throws(Failure) in try session.write(all: !isMore) }
  }

  private mutating func take() -> Bool {
    let number = world.ledger.counts.taken
    var sent = draw()
    let token = UnsafeMutableRawBufferPointer(rebasing: world.token[0..<sent.tokenLength])
    Token.write(number, token)
    if !session.hasRoom(for: sent.size) { world.met(.fullWindows) }
    let notification = WireNotification(
      token: UnsafeRawBufferPointer(token), payload: Token.payload(number, sent.payloadLength),
      expiry: sent.expiry, priority: sent.priority)
    do throws(Failure) {
      sent.identifier = try session.take(
        notification, userData: UnsafeMutableRawPointer(bitPattern: number + 1))
    } catch {
      if error.status == APNS_ERR_FULL {
        world.met(.fullOfOutcomes)
        if session.waitingOutcomes == 0 { world.violate("full of outcomes, and there are none") }
      } else {
        world.met(.failedSends)
        world.failed(error)
      }
      return false
    }
    sent.lane = session.taking
    if sent.identifier == 0 { world.violate("an identifier of 0") }
    if lastIdentifier != 0, Int32(bitPattern: sent.identifier &- lastIdentifier) <= 0 {
      world.violate("\(sent.identifier) after \(lastIdentifier)")
    }
    if sent.identifier < lastIdentifier { world.met(.rounds) }
    lastIdentifier = sent.identifier
    world.met(.notifications)
    world.ledger.take(sent)
    world.say("\(number) is taken as \(sent.identifier) by lane \(sent.lane): \(sent.fate)")
    return true
  }

  private func draw() -> Sent {
    let scenario = world.scenario
    let tokenLength = world.dice.happens(scenario.oddTokens) ? world.dice.within(4...100) : 32
    let payloadLength = world.dice.within(scenario.payloadSizes)
    let expiry: UInt32? = world.dice.below(4) == 0 ? UInt32(world.dice.below(1 << 31)) : nil
    let priority: UInt8? = world.dice.below(4) == 0 ? 5 : nil
    var size = tokenLength + payloadLength
    switch scenario.given.format {
    case Int32(APNS_FORMAT_SIMPLE.rawValue): size += 5
    case Int32(APNS_FORMAT_ENHANCED.rawValue): size += 13
    default: size += 18 + (expiry == nil ? 0 : 7) + (priority == nil ? 0 : 4)
    }
    return Sent(
      identifier: 0, lane: 0, tokenLength: tokenLength, payloadLength: payloadLength,
      expiry: expiry, priority: priority, size: size, fate: drawFate(scenario))
  }

  private func drawFate(_ scenario: Scenario) -> Fate {
    if world.dice.happens(scenario.killers) { return .killer }
    if world.dice.happens(scenario.namelessBad) {
      return .namelessBad(world.dice.pick([1, 3, 7, 8, 128, 255]))
    }
    if world.dice.happens(scenario.bad) {
      // Without identifiers the gateway names nobody.
      return scenario.isSimple
        ? .namelessBad(8) : .bad(world.dice.pick([8, 8, 8, 1, 2, 3, 4, 5, 6, 7, 128, 255]))
    }
    return .good
  }

  // MARK: Other calls

  private mutating func connect() {
    world.beginCall("connect", lasting: connectTimeout)
    defer { world.endCall() }
    world.expecting { () throws(Failure) in try session.connect() }
  }

  private mutating func flush() {
    world.beginCall("flush", lasting: bothTimeouts)
    defer { world.endCall() }
    world.expecting { () throws(Failure) in try session.write(all: true) }
  }

  private func time(_ milliseconds: Int32) -> Int64 {
    milliseconds < 0 ? bothTimeouts : Int64(milliseconds) * Self.millisecond
  }

  /// True where everything has its end.
  @discardableResult
  private mutating func drain(milliseconds: Int32) -> Bool {
    world.beginCall("drain", lasting: time(milliseconds), waits: milliseconds != 0)
    defer { world.endCall() }
    let isDone = world.expecting { () throws(Failure) in
      try session.pursue(.ends, by: session.deadline(milliseconds: milliseconds))
    }
    if isDone, session.unresolved > 0 { world.violate("drained, and something has no end") }
    return isDone
  }

  /// The gateway works by now, so the end of everything comes to be known.
  private mutating func drainWhole() {
    for _ in 0..<100 {
      let isDone = drain(milliseconds: 1_000_000_000)
      if world.violation != nil { return }
      checkStats()
      if isDone { return world.met(.drains) }
      world.clock += 1_000_000_000
    }
    world.violate("the gateway works, and still not everything has its end")
  }

  private mutating func close(isDrained: Bool) {
    world.met(isDrained ? .closes : .closesUndrained)
    let milliseconds: Int32 = world.dice.pick([0, 10, 1000, 60_000, -1])
    world.beginCall("close", lasting: time(milliseconds), waits: milliseconds != 0)
    session.close(by: session.deadline(milliseconds: milliseconds))
    world.endCall()
    if world.scenario.isExact { world.ledger.abandon() }
    checkStats()
  }

  private mutating func takeEvents() {
    while world.violation == nil, nextEvent(milliseconds: 0) {}
  }

  @discardableResult
  private mutating func nextEvent(milliseconds: Int32) -> Bool {
    world.beginCall(
      "next_event", lasting: time(milliseconds), waits: milliseconds != 0,
      writes: milliseconds != 0)
    defer { world.endCall() }
    do throws(Failure) {
      guard let event = try session.nextOutcome(milliseconds: milliseconds) else { return false }
      told(event)
      return true
    } catch {
      world.failed(error)
      return false
    }
  }

  // MARK: Checks

  private func told(_ event: WaitingOutcome) {
    let number = Int(bitPattern: event.userData) - 1
    guard number >= 0, number < world.ledger.counts.taken else {
      return world.violate("an event with the user data of nobody")
    }
    let end: End =
      switch event.outcome {
      case .accepted: .accepted
      case .rejected(let status): .rejected(status)
      case .unknown: .unknown
      }
    world.say("the caller is told of \(number): \(end)")
    world.tell(number, event.identifier, end)
  }

  private func checkStats() {
    var stats = apns_session_stats_t()
    session.count(into: &stats)
    world.check(stats)
  }

  private func checkEnds() {
    if session.waitingOutcomes > 0 || session.unresolved > 0 {
      world.violate("something is left in a closed session")
    }
    world.checkEnds(accepted: session.sum { Int($0.accepted) })
  }
}
