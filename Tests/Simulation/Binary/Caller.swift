import CAPNS

/// The caller of a session that uses the binary interface.
struct Caller: Calling, ~Copyable {
  let world: World
  let options: SessionOptions
  private var session: BinarySession<FakeNetwork<World>>
  var lastIdentifier: UInt32 = 0
  static var mostAtOnce: Int { 300 }
  var leastFull: Int { session.connections[0].window.capacity / 2 - 1 }

  init(
    _ world: World, _ options: SessionOptions,
    _ session: consuming BinarySession<FakeNetwork<World>>
  ) {
    self.world = world
    self.options = options
    self.session = session
  }

  static func make(_ world: World) throws(Failure) -> Caller {
    let options = try world.given.checked()
    let session = try BinarySession.make(
      options, network: FakeNetwork(world: world),
      firstIdentifier: world.scenario.firstIdentifier)
    let channels = session.connections
    world.earliestDue = { [unowned world] in
      var earliest: (time: Int64, number: Int) = (.max, -1)
      // An outcome may have no room before others are taken.
      for channel in 0..<options.connections where channels[channel].window.reserve(1) != nil {
        channels[channel].window.forEachWithoutEnd { identifier, _ in
          guard let number = world.ledger.numbers[identifier] else { return true }
          if let due = world.ledger.sent[number].timeDue?.upperBound, due < earliest.time {
            earliest = (due, number)
          }
          return true
        }
      }
      return earliest
    }
    world.unknownSoFar = {
      (0..<options.connections).reduce(0) { $0 + channels[$1].window.unknown }
    }
    return Caller(world, options, session)
  }

  // MARK: Sending

  mutating func take() throws(Failure) -> UInt32 {
    let number = world.ledger.counts.taken
    var sent = draw()
    let token = UnsafeMutableRawBufferPointer(rebasing: world.token[0..<sent.tokenLength])
    Token.write(number, token)
    if !session.hasRoom(for: sent.size) { world.met(.fullWindows) }
    for channel in 0..<options.connections
    where !session.connections[channel].window.hasRoom(for: sent.size)
      || options.connections > 1 && session.connections[channel].isEnding
    {
      world.ledger.wantProof(world.call)
    }
    let payload = Token.payload(number, sent.payloadLength)
    let notification = WireNotification(
      token: UnsafeRawBufferPointer(token), payload: payload, expiry: sent.expiry,
      priority: sent.priority)
    let own = world.drawDeadline()
    sent.identifier = try session.take(
      notification, payloadCount: sent.payloadLength, deadline: own,
      userData: world.give(number)
    ) { _ in payload }
    sent.channel = session.taking
    sent.timeDue = world.dueTimes(own)
    if options.connections > 1 { world.checkIsWritable(number, sent.channel) }
    world.ledger.take(sent)
    world.say(
      "\(number) is taken as \(sent.identifier) by channel \(sent.channel): \(sent.planned)")
    return sent.identifier
  }

  private func draw() -> Sent {
    let scenario = world.scenario
    let tokenLength = world.dice.happens(scenario.oddTokens) ? world.dice.within(4...100) : 32
    let payloadLength = world.dice.within(scenario.payloadSizes)
    let expiry: UInt32? = world.dice.below(4) == 0 ? UInt32(world.dice.below(1 << 31)) : nil
    let priority: UInt8? = world.dice.below(4) == 0 ? 5 : nil
    var size = tokenLength + payloadLength
    switch world.given.binary.format {
    case Int32(APNS_FORMAT_SIMPLE.rawValue): size += 5
    case Int32(APNS_FORMAT_ENHANCED.rawValue): size += 13
    default: size += 18 + (expiry == nil ? 0 : 7) + (priority == nil ? 0 : 4)
    }
    return Sent(
      identifier: 0, channel: 0, tokenLength: tokenLength, payloadLength: payloadLength,
      expiry: expiry, priority: priority, size: size, planned: drawOutcome(scenario))
  }

  private func drawOutcome(_ scenario: Scenario) -> PlannedOutcome {
    if world.dice.happens(scenario.killers) { return .killer }
    if world.dice.happens(scenario.namelessBad) {
      return .namelessBad(world.dice.pick([1, 3, 7, 8, 128, 255]))
    }
    if world.dice.happens(scenario.bad) {
      // Without identifiers the gateway cannot name a notification.
      return scenario.isSimple
        ? .namelessBad(8) : .bad(world.dice.pick([8, 8, 8, 1, 2, 3, 4, 5, 6, 7, 128, 255]))
    }
    return .good
  }

  // MARK: Other calls

  var hasFullRecord: Bool { session.hasFullRecord }

  mutating func connect() throws(Failure) { try session.connect() }

  mutating func awaitMore() { session.awaitMore() }

  mutating func write(all: Bool) throws(Failure) {
    try session.write(all: all)
    guard all, !world.usesLoop else { return }
    checkAge()
    world.checkWritten()
  }

  private func checkAge() {
    world.checkAge(mayConnect: session.reconnects.earliest <= world.call.started)
  }

  mutating func awaitEnds(milliseconds: Int32) throws(Failure) {
    world.ledger.wantProof(world.call)
    try session.drain(milliseconds: milliseconds)
  }

  mutating func process() throws(Failure) -> Bool {
    let isOpen = try session.process()
    if isOpen { checkAge() } else { closed() }
    return isOpen
  }

  mutating func cancel(_ identifier: UInt32) -> Int {
    defer { session.reportOutcomes() }
    return session.cancel(identifier)
  }

  var pushEnds: Nanoseconds {
    get { session.pushEnds }
    set { session.pushEnds = newValue }
  }

  func deadline(milliseconds: Int32) -> Nanoseconds { session.deadline(milliseconds: milliseconds) }

  mutating func push() { session.push() }

  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome {
    world.ledger.wantProof(world.call)
    return try session.pushed(or: &reason)
  }

  func isOpen(_ number: Int) -> Bool {
    let sent = world.ledger.sent[number]
    var isOpen = false
    session.connections[sent.channel].window.forEachWithoutEnd { identifier, _ in
      if identifier == sent.identifier { isOpen = true }
      return !isOpen
    }
    return isOpen
  }

  mutating func useCredentials() { session.replaceConnections() }

  mutating func close(milliseconds: Int32) -> Bool {
    world.ledger.wantProof(world.call)
    world.isClosed = true
    guard session.close(milliseconds: milliseconds) else { return false }
    closed()
    return true
  }

  private func closed() {
    if world.scenario.isExact { world.ledger.abandon() }
  }

  func count(into stats: inout apns_session_stats_t) { session.count(into: &stats) }
  mutating func measure() -> UnsafePointer<apns_session_metrics_t> { session.measure() }

  mutating func takeEvent(milliseconds: Int32) throws(Failure) -> Bool {
    guard let event = try session.nextOutcome(milliseconds: milliseconds) else {
      if !world.usesLoop { checkAge() }
      return false
    }
    if world.isCalledBack { world.violate("next_event returns what belongs to on_outcome") }
    told(event)
    return true
  }

  func fill(_ event: inout apns_event_t, with outcome: WaitingOutcome) {
    session.report(outcome, in: &event)
  }

  mutating func deliver() { session.deliver() }
}
