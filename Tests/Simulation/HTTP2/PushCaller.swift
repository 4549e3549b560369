import CAPNS

/// An event as the caller reads it.
struct PushEvent {
  var identifier: UInt32
  var end: PushEnd
  var timestamp: Int64
  /// What its apns-id says; nil: it has none.
  var identifierText: (number: Int, isOwn: Bool)?
}

/// Who uses the session: sends, waits, asks, takes its events, and checks every answer.
struct PushCaller: ~Copyable {
  private let world: PushWorld
  private var session: PushSession<FakeNetwork<PushWorld>>
  private let connectTimeout: Int64
  private let bothTimeouts: Int64
  private var lastIdentifier: UInt32 = 0
  private static let millisecond: Int64 = 1_000_000
  private static let otherTopic: StaticString = "com.example.other"
  private static let collapse: StaticString = "collapse 1"

  init(
    _ world: PushWorld, _ options: SessionOptions,
    _ session: consuming PushSession<FakeNetwork<PushWorld>>
  ) {
    self.world = world
    self.session = session
    connectTimeout = options.connectTimeout
    bothTimeouts = options.connectTimeout + options.writeTimeout
  }

  static func make(_ world: PushWorld) throws(Failure) -> PushCaller {
    let options = try SessionOptions(world.given)
    let token: ProviderToken? = world.scenario.showsToken ? ProviderToken(world) : nil
    var session = try PushSession.make(
      options, names: PushNames.make(world.given), token: token,
      network: FakeNetwork(world: world))
    session.nextIdentifier = world.scenario.firstIdentifier
    return PushCaller(world, options, session)
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
    case 30..<45: sendMany(world.dice.within(1...world.dice.pick([3, 40, 200])))
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
    guard !world.ledger.isFull, world.violation == nil else { return }
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
      guard !world.ledger.isFull, world.violation == nil, take() else { break }
      if session.hasFullRecord {
        world.expecting { () throws(Failure) in try session.write(all: false) }
      }
    }
    if isMore, !session.hasFullRecord { return }
    world.expecting { () throws(Failure) in try session.write(all: !isMore) }
  }

  private mutating func take() -> Bool {
    let number = world.ledger.taken
    var sent = draw()
    let token = UnsafeMutableRawBufferPointer(rebasing: world.token[0..<sent.tokenLength])
    Token.write(number, token)
    let payload = Token.payload(number, sent.payloadLength)
    var given = apns_notification_t()
    given.size = MemoryLayout<apns_notification_t>.size
    given.token = UnsafeRawPointer(token.baseAddress)
    given.token_length = token.count
    given.payload = payload.baseAddress
    given.payload_length = payload.count
    given.expiry = sent.expiry
    given.priority = sent.priority
    given.push_type = sent.type
    if sent.hasTopic { given.topic = Self.text(Self.otherTopic) }
    if sent.hasCollapse { given.collapse_id = Self.text(Self.collapse) }
    var text = InlineArray<40, UInt8>(repeating: 0)
    let userData = UnsafeMutableRawPointer(bitPattern: number + 1)
    do throws(Failure) {
      sent.identifier = try withUnsafeMutablePointer(to: &text) { (memory) throws(Failure) in
        let start = UnsafeMutableRawPointer(memory)
        if sent.hasIdentifier {
          PushIdentifier.write(number, isOwn: true, to: start.assumingMemoryBound(to: UInt8.self))
          given.apns_id = UnsafePointer(start.assumingMemoryBound(to: CChar.self))
        }
        // As takePush() does.
        let push = try PushRequest(
          &given, payload: payload, payloadMax: session.options.payloadMax,
          topic: session.names.topic, needsTopic: session.token != nil)
        return try session.take(push, userData: userData)
      }
    } catch {
      if error.status == APNS_ERR_FULL {
        world.met(.fullOfOutcomes)
        if !session.hasOutcome { world.violate("full of outcomes, and there are none") }
      } else {
        world.met(.failedSends)
        world.failed(error)
      }
      return false
    }
    if sent.identifier == 0 { world.violate("an identifier of 0") }
    if lastIdentifier != 0, Int32(bitPattern: sent.identifier &- lastIdentifier) <= 0 {
      world.violate("\(sent.identifier) after \(lastIdentifier)")
    }
    if sent.identifier < lastIdentifier { world.met(.rounds) }
    lastIdentifier = sent.identifier
    (sent.takenAt, sent.freeSince) = (world.clock, world.clock)
    world.met(.notifications)
    world.ledger.take(sent)
    world.say("\(number) is taken as \(sent.identifier): \(sent.fate)")
    return true
  }

  private static func text(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  private func draw() -> PushSent {
    let scenario = world.scenario
    let type = UInt8(world.dice.within(1...4))
    var expiry: Int64 = 0
    if world.dice.below(4) == 0 { expiry = world.dice.pick([-1, 4_000_000_000]) }
    // Long past, so that nothing is to be tried again for it.
    if world.dice.happens(scenario.expiring) { expiry = 1 + Int64(world.dice.below(900)) }
    return PushSent(
      tokenLength: world.dice.below(8) == 0 ? world.dice.within(5...100) : 32,
      payloadLength: world.dice.within(scenario.payloadSizes), expiry: expiry,
      // What a background push has, and no other.
      priority: type == 2 ? 5 : world.dice.pick([0, 0, 1, 5, 10]), type: type,
      hasTopic: world.dice.below(8) == 0, hasCollapse: world.dice.below(8) == 0,
      hasIdentifier: world.dice.happens(scenario.ownIdentifiers), fate: drawFate(scenario))
  }

  private func drawFate(_ scenario: PushScenario) -> PushFate {
    if world.dice.happens(scenario.killers) { return .killer }
    if world.dice.happens(scenario.gone) {
      return .gone(since: 1_600_000_000_000 + Int64(world.dice.below(1 << 36)))
    }
    if world.dice.happens(scenario.bad) {
      return .bad(world.dice.below(8) == 0 ? 255 : UInt8(world.dice.within(1...32)))
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
    world.expecting { () throws(Failure) in try session.flush() }
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
    if isDone, session.outbox.pointee.unresolved > 0 {
      world.violate("drained, and something has no end")
    }
    return isDone
  }

  /// The service works by now, so the end of everything comes to be known.
  private mutating func drainWhole() {
    for _ in 0..<100 {
      let isDone = drain(milliseconds: 1_000_000_000)
      if world.violation != nil { return }
      checkStats()
      if isDone { return world.met(.drains) }
      world.clock += 1_000_000_000
    }
    world.violate("the service works, and still not everything has its end")
  }

  private mutating func close(isDrained: Bool) {
    world.met(isDrained ? .closes : .closesUndrained)
    let milliseconds: Int32 = world.dice.pick([0, 10, 1000, 60_000, -1])
    world.beginCall("close", lasting: time(milliseconds), waits: milliseconds != 0)
    world.isClosing = true
    session.close(by: session.deadline(milliseconds: milliseconds))
    world.endCall()
    checkStats()
  }

  private mutating func takeEvents() {
    while world.violation == nil, nextEvent(milliseconds: 0) {}
  }

  /// As HeldSession does.
  @discardableResult
  private mutating func nextEvent(milliseconds: Int32) -> Bool {
    world.beginCall(
      "next_event", lasting: time(milliseconds), waits: milliseconds != 0,
      writes: milliseconds != 0)
    defer { world.endCall() }
    do throws(Failure) {
      guard try session.awaitOutcome(milliseconds: milliseconds),
        let slot = session.outbox.pointee.firstOutcome
      else { return false }
      var event = apns_event_t()
      session.tellAnswer(slot, &event)
      let entry = session.outbox.pointee.entries[slot]
      session.outbox.pointee.tookOutcome()
      told(entry, event)
      return true
    } catch {
      world.failed(error)
      return false
    }
  }

  // MARK: Checks

  private func told(_ entry: OutboxEntry, _ event: apns_event_t) {
    let number = Int(bitPattern: entry.userData) - 1
    guard number >= 0, number < world.ledger.taken else {
      return world.violate("an event with the user data of nobody")
    }
    let end: PushEnd =
      switch entry.outcome {
      case .accepted: .accepted
      case .rejected:
        .rejected(status: event.http_status, reason: UInt8(truncatingIfNeeded: event.reason))
      case .unknown: .unknown
      }
    let identifier = withUnsafeBytes(of: event.apns_id) {
      PushIdentifier.read(UnsafeRawBufferPointer(rebasing: $0[0..<PushIdentifier.count]))
    }
    world.say("the caller is told of \(number): \(end)")
    world.tell(
      number,
      PushEvent(
        identifier: entry.identifier, end: end, timestamp: event.timestamp,
        identifierText: identifier))
  }

  private func checkStats() {
    var stats = apns_session_stats_t()
    session.count(into: &stats)
    world.check(stats)
  }

  private mutating func checkEnds() {
    var stats = apns_session_stats_t()
    session.count(into: &stats)
    if stats.events > 0 || stats.unresolved > 0 {
      world.violate("something is left in a closed session")
    }
    world.checkEnds(accepted: stats.accepted)
    checkGone()
  }

  /// The devices that it was told are gone are in the feedback, each once.
  private func checkGone() {
    var devices = GoneFeedback(session.gone)
    var seen: Set<Int> = []
    while let device = devices.next() {
      guard let number = Token.number(device.token), number < world.ledger.taken else {
        return world.violate("the feedback has a device of nobody")
      }
      switch world.ledger.sent[number].fate {
      case .gone(let time):
        if UInt32(time / 1000) != device.timestamp, world.ledger.sent[number].isTimeRead {
          world.violate("the feedback has \(number) gone since \(device.timestamp)")
        }
      // Unregistered and ExpiredToken, without a time.
      case .bad(26), .bad(27): break
      default: world.violate("the feedback has \(number), which is not gone")
      }
      if !seen.insert(number).inserted { world.violate("the feedback has \(number) twice") }
    }
    if seen.count < world.ledger.goneTold {
      world.violate("the feedback has \(seen.count) of \(world.ledger.goneTold) devices")
    }
  }
}
