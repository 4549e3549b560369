import CAPNS

/// The caller of a session over HTTP/2.
struct HTTP2Caller: Calling, ~Copyable {
  let world: HTTP2World
  let options: SessionOptions
  private var session: HTTP2Session<FakeNetwork<HTTP2World>, ModelToken>
  var lastIdentifier: UInt32 = 0
  /// Where the outbox has what was pushed.
  private var slots: [Int: Int] = [:]
  static var mostAtOnce: Int { 200 }
  var leastFull: Int { session.outbox.pointee.capacity / 2 }
  private static let otherTopic: StaticString = "com.example.other"
  private static let collapse: StaticString = "collapse 1"

  init(
    _ world: HTTP2World, _ options: SessionOptions,
    _ session: consuming HTTP2Session<FakeNetwork<HTTP2World>, ModelToken>
  ) {
    self.world = world
    self.options = options
    self.session = session
  }

  static func make(_ world: HTTP2World) throws(Failure) -> HTTP2Caller {
    let options = try Self.options(world)
    let tokens = world.showsToken ? ModelToken(world) : nil
    var session = try HTTP2Session.make(
      options, defaults: RequestDefaults.make(world.given.session, to: "api.push.apple.com"),
      tokens: tokens,
      network: FakeNetwork(world: world))
    session.nextIdentifier = world.scenario.firstIdentifier
    let outbox = session.outbox
    world.earliestDue = { [unowned world] in
      var earliest: (time: Int64, number: Int) = (.max, -1)
      outbox.pointee.forEachWithoutEnd {
        guard let memory = outbox.pointee.entries[$0].userData else { return }
        let number = memory.assumingMemoryBound(to: UserDatum.self) - world.userData
        // The notification that is being taken is not known yet.
        guard number < world.ledger.taken else { return }
        if let due = world.ledger.sent[number].due?.upperBound, due < earliest.time {
          earliest = (due, number)
        }
      }
      return earliest
    }
    world.unknownSoFar = { outbox.pointee.unknown }
    return HTTP2Caller(world, options, session)
  }

  /// The options' texts live as long as they are read.
  private static func options(_ world: HTTP2World) throws(Failure) -> SessionOptions {
    var given = world.given
    let texts = [world.scenario.schedules.retryText, world.scenario.schedules.serverErrorText]
      .map { $0.map { Array($0.utf8CString) } }
    let copies = texts.map { text in
      text.map { text in
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: text.count)
        copy.initialize(from: text, count: text.count)
        return copy
      }
    }
    defer { for copy in copies { copy?.deallocate() } }
    given.tuning.retry_schedule = copies[0].map { UnsafePointer($0) }
    given.tuning.server_error_schedule = copies[1].map { UnsafePointer($0) }
    return try given.checked()
  }

  // MARK: Sending

  mutating func take() throws(Failure) -> UInt32 {
    let number = world.ledger.taken
    var sent = draw()
    let token = UnsafeMutableRawBufferPointer(rebasing: world.token[0..<sent.tokenLength])
    Token.write(sent.device, token)
    let payload = Token.payload(number, sent.payloadLength)
    var given = apns_notification_t()
    given.size = MemoryLayout<apns_notification_t>.size
    var channel = InlineArray<201, UInt8>(repeating: 0)
    if sent.isBroadcast {
      for index in token.indices {
        channel[2 * index] = hexDigit(token[index] >> 4)
        channel[2 * index + 1] = hexDigit(token[index] & 15)
      }
    } else {
      given.token = UnsafeRawPointer(token.baseAddress)
      given.token_length = token.count
    }
    given.payload = payload.baseAddress
    given.payload_length = payload.count
    given.expiry = sent.expiry
    given.priority = sent.priority
    given.push_type = sent.type
    if sent.hasTopic { given.topic = Self.text(Self.otherTopic) }
    if sent.hasCollapse { given.collapse_id = Self.text(Self.collapse) }
    var text = InlineArray<40, UInt8>(repeating: 0)
    let userData = world.give(number)
    let own = world.drawDeadline()
    sent.identifier = try withUnsafeMutablePointer(to: &text) { (memory) throws(Failure) in
      let start = UnsafeMutableRawPointer(memory)
      if sent.hasIdentifier {
        HTTP2Identifier.write(number, isOwn: true, to: start.assumingMemoryBound(to: UInt8.self))
        given.apns_id = UnsafePointer(start.assumingMemoryBound(to: CChar.self))
      }
      return try withUnsafeMutablePointer(to: &channel) { (memory) throws(Failure) in
        let text = UnsafeMutableRawPointer(memory).assumingMemoryBound(to: CChar.self)
        if sent.isBroadcast { given.channel_id = UnsafePointer(text) }
        // The same as apns_session_send() does.
        let push = try session.notification(
          &given, payload: payload, payloadCount: payload.count, isPassed: false)
        world.call.isFullOfOutcomes = isFullOfOutcomes
        defer { world.call.isFullOfOutcomes = false }
        do throws(Failure) {
          return try session.take(
            push, payloadCount: payload.count, deadline: own, userData: userData
          ) { _ in payload }
        } catch {
          if error.status == APNS_ERR_TIMEOUT { checkRoom() }
          throw error
        }
      }
    }
    (sent.takenAt, sent.freeSince) = (world.clock, world.clock)
    sent.due = world.dueTimes(own)
    sent.unseenDropsBefore = world.unseenDrops
    world.ledger.take(sent)
    world.say("\(number) is taken as \(sent.identifier): \(sent.planned)")
    return sent.identifier
  }

  /// Waiting for room failed, so the window has to be full of notifications without an
  /// outcome, with no unused gaps.
  private func checkRoom() {
    guard session.hasConnection else { return }
    let outbox = session.outbox
    let isRoomy =
      outbox.pointee.live < outbox.pointee.largestRequest / 4
      && outbox.pointee.unresolved + outbox.pointee.stayingOutcomes < outbox.pointee.capacity / 4
    if isRoomy { world.violate("a send finds no room, and there is") }
  }

  /// Each place has an outcome in the end, so only the caller makes room.
  private var isFullOfOutcomes: Bool {
    let (unresolved, waiting) = (
      session.outbox.pointee.unresolved, session.outbox.pointee.waitingOutcomes
    )
    return options.reporting == .each && waiting > 0
      && unresolved + waiting == session.outbox.pointee.capacity
  }

  private static func text(_ text: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  private func draw() -> HTTP2Sent {
    let scenario = world.scenario
    let type = UInt8(world.dice.within(1...4))
    let devices = scenario.devices
    let device = devices > 0 ? world.dice.below(devices) : world.ledger.taken
    var expiry: Int64 = 0
    if world.dice.below(4) == 0 { expiry = world.dice.pick([-1, 4_000_000_000]) }
    // An expiry long past, so that the session never retries it.
    if world.dice.happens(scenario.expiring) { expiry = 1 + Int64(world.dice.below(900)) }
    var sent = HTTP2Sent(
      device: device,
      tokenLength: devices > 0
        ? 20 + device % 50 : world.dice.below(8) == 0 ? world.dice.within(5...100) : 32,
      payloadLength: world.dice.within(scenario.payloadSizes), expiry: expiry,
      // A background push has to have priority 5.
      priority: type == 2 ? 5 : world.dice.pick([0, 0, 1, 5, 10]), type: type,
      hasTopic: world.dice.below(8) == 0, hasCollapse: world.dice.below(8) == 0,
      hasIdentifier: world.dice.happens(scenario.ownIdentifiers), planned: drawOutcome(scenario))
    // The feedback lists no channel. A notification to a channel is to it even if it is one of
    // several, with any planned outcome.
    var isOfDevice = false
    switch sent.planned {
    case .gone, .bad(26), .bad(27): isOfDevice = devices == 0
    default: break
    }
    if device % 3 == 0, !isOfDevice {
      (sent.isBroadcast, sent.hasCollapse, sent.type) = (
        true, false, PushType.liveactivity.rawValue
      )
    }
    return sent
  }

  private func drawOutcome(_ scenario: HTTP2Scenario) -> HTTP2PlannedOutcome {
    if world.dice.happens(scenario.killers) { return .killer }
    if world.dice.happens(scenario.silent) { return .silent }
    if world.dice.happens(scenario.gone) {
      return .gone(since: 1_600_000_000_000 + Int64(world.dice.below(1 << 36)))
    }
    if world.dice.happens(scenario.bad) {
      return .bad(world.dice.below(8) == 0 ? 255 : UInt8(world.dice.within(1...32)))
    }
    return .good
  }

  // MARK: Other calls

  var hasFullRecord: Bool { session.hasFullRecord }

  mutating func connect() throws(Failure) { try session.connect() }

  mutating func awaitMore() { session.awaitMore() }

  mutating func write(all: Bool) throws(Failure) { try session.write(all: all) }

  mutating func awaitEnds(milliseconds: Int32) throws(Failure) {
    try session.drain(milliseconds: milliseconds)
  }

  mutating func process() throws(Failure) -> Bool { try session.process() }

  mutating func cancel(_ identifier: UInt32) -> Int {
    defer { session.reportOutcomes() }
    return session.cancel(identifier)
  }

  var pushEnds: Nanoseconds {
    get { session.pushEnds }
    set { session.pushEnds = newValue }
  }

  func deadline(milliseconds: Int32) -> Nanoseconds { session.deadline(milliseconds: milliseconds) }

  mutating func push() {
    session.push()
    let outbox = session.outbox
    slots[world.taken - 1] = (0..<outbox.pointee.capacity).first {
      outbox.pointee.isPushed(outbox.pointee.entries + $0)
    }
  }

  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome {
    try session.pushed(or: &reason)
  }

  func isOpen(_ number: Int) -> Bool {
    guard let slot = slots[number] else { return false }
    let entry = session.outbox.pointee.entries + slot
    guard entry.pointee.identifier == world.identifier(number) else { return false }
    switch entry.pointee.state {
    case .queued, .inFlight, .responded: return true
    case .ended, .done: return false
    }
  }

  mutating func useCredentials() {
    session.replaceConnections(world.showsToken ? ModelToken(world) : nil)
  }

  mutating func close(milliseconds: Int32) -> Bool {
    world.isClosing = true
    return session.close(milliseconds: milliseconds)
  }

  func count(into stats: inout apns_session_stats_t) { session.count(into: &stats) }
  mutating func measure() -> UnsafePointer<apns_session_metrics_t> { session.measure() }

  mutating func takeEvent(milliseconds: Int32) throws(Failure) -> Bool {
    guard let outcome = try session.nextOutcome(milliseconds: milliseconds) else { return false }
    if world.isCalledBack { world.violate("next_event returns what belongs to on_outcome") }
    told(outcome)
    return true
  }

  func fill(_ event: inout apns_event_t, with outcome: WaitingOutcome) {
    session.report(outcome, in: &event)
  }

  mutating func deliver() { session.deliver() }

  /// The feedback lists each device that the session reported as gone, once.
  mutating func checkRest() {
    // A gone device's token does not identify a notification.
    if world.scenario.devices > 0 { return }
    for number in world.pushed.early { world.noteGone(number) }
    var devices = GoneFeedback(session.gone)
    var seen: Set<Int> = []
    while let device = devices.next() {
      guard let number = Token.number(device.token), number < world.ledger.taken else {
        return world.violate("the feedback has a device of nobody")
      }
      switch world.ledger.sent[number].planned {
      case .gone(let time):
        if UInt32(time / 1000) != device.timestamp, world.ledger.sent[number].isTimeRead {
          world.violate("the feedback has \(number) gone since \(device.timestamp)")
        }
      // Unregistered and ExpiredToken without a timestamp.
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
