import Testing

@testable import APNS

/// Runs the window against a gateway in memory. One seed decides every choice.
@Suite struct WindowTests {
  @Test(arguments: [Reporting.all, .each, .failures])
  func everyNotificationHasOneEnd(reporting: Reporting) {
    let first = Mutation.seed
    for seed in first..<(first + 250) {
      let untaken = UnsafeMutablePointer<Untaken>.make(reporting)!
      defer { untaken.end() }
      var run = WindowRun(seed: seed, untaken: untaken)
      let fault = run.play()
      #expect(fault == nil, "seed \(seed): \(fault ?? "")")
      if fault != nil { return }
    }
  }

  @Test func identifiersSkipZeroWhenTheyComeRound() {
    for seed in UInt64(1)...60 {
      let untaken = UnsafeMutablePointer<Untaken>.make(.each)!
      defer { untaken.end() }
      var run = WindowRun(
        seed: seed, untaken: untaken, firstIdentifier: .max - UInt32(seed % 60))
      let fault = run.play()
      #expect(fault == nil, "seed \(seed): \(fault ?? "")")
    }
  }
}

/// The notification that an identifier of 0 means. The gateway uses it if it cannot name one.
@Suite struct ZeroTests {
  /// A window with one notification followed by a sentinel, which may not be written yet.
  private func decision(
    status: UInt8, zeroProves: Bool = false, hasUsualToken: Bool = true, sentinel: Bool = true,
    isWritten: Bool = true
  ) -> Window.Decision {
    let untaken = UnsafeMutablePointer<Untaken>.make(.each)!
    defer { untaken.end() }
    var window = Window(bytes: 16 << 10, untaken: untaken, zeroProves: zeroProves)!
    let place = window.reserve(20)!
    window.commit(
      place, size: 20, identifier: 1, userData: nil, hasUsualToken: hasUsualToken,
      due: .max)
    window.wrote(20)
    var last = Sentinel()
    if sentinel {
      last.begin(2, size: 10)
      last.wrote(isWritten ? 10 : 9)
    }
    let decision = window.errorPacket(status: status, identifier: 0, sentinel: last)
    // Proven notifications are accepted, and nothing else is.
    #expect(window.accepted == (decision == .proven ? 1 : 0))
    return decision
  }

  @Test func theMissingTokenIsTheSentinels() {
    #expect(decision(status: 2) == .proven)
    #expect(decision(status: 2, sentinel: false) == .ambiguous)
    #expect(decision(status: 2, isWritten: false) == .ambiguous)
  }

  @Test func theWrongSizeIsTheSentinelsWhereNoOtherTokenIsOdd() {
    #expect(decision(status: 5) == .proven)
    #expect(decision(status: 5, hasUsualToken: false) == .ambiguous)
    #expect(decision(status: 5, zeroProves: true, hasUsualToken: false) == .proven)
  }

  @Test(arguments: [8, 128] as [UInt8])
  func otherStatusesAreOnlyByOption(status: UInt8) {
    #expect(decision(status: status) == .ambiguous)
    #expect(decision(status: status, zeroProves: true) == .proven)
    #expect(decision(status: status, zeroProves: true, sentinel: false) == .ambiguous)
    #expect(decision(status: status, zeroProves: true, isWritten: false) == .ambiguous)
  }

  /// A shutdown names the last accepted notification, so with 0 there was none.
  @Test func aShutdownWithZeroHasNoneAccepted() {
    #expect(decision(status: 10) == .ambiguous)
    #expect(decision(status: 10, zeroProves: true) == .ambiguous)
  }
}

/// How often each notification was in flight when a connection ended without an error packet.
@Suite struct DoubtsTests {
  /// Compares with a separate count for each notification, in random order.
  @Test func theyAreThoseOfEach() {
    for seed in UInt64(1)...200 {
      var random = SplitMix64(seed: seed)
      var doubts = Doubts()
      var counts = [Int](repeating: 0, count: 300)
      var first = 0
      while first < counts.count {
        let written = Int.random(in: first...counts.count, using: &random)
        for position in first..<written { counts[position] += 1 }
        let fifth = doubts.add(from: first, to: written)
        let given = counts[first...].firstIndex { $0 < 5 } ?? counts.count
        #expect(max(fifth, first) == given)
        first = given
        for position in first..<counts.count {
          #expect(doubts.count(at: position) == counts[position])
        }
        if Bool.random(using: &random) { first += Int.random(in: 0...20, using: &random) }
      }
    }
  }

  /// A notification that was in doubt four times is sent alone, and one without doubt is
  /// never held back.
  @Test(arguments: [1, 10, 1000, 20_000, 1 << 24])
  func flightsGrowSmaller(count: Int) {
    var doubts = Doubts()
    #expect(doubts.flight(at: 0) == .max)
    var flights: [Int] = []
    for _ in 1...4 {
      _ = doubts.add(from: 0, to: min(count, flights.last ?? count))
      flights.append(doubts.flight(at: 0))
    }
    #expect(flights[3] == 1)
    #expect(flights[0] > flights[1] && flights[1] > flights[2] && flights[2] > 1)
    #expect(flights[0] * flights[2] >= count)
    #expect(doubts.flight(at: count) == .max)
  }
}

/// One run: sends, writes, packets and ends in random order, followed by a drain.
struct WindowRun: ~Copyable {
  private var window: Window
  private var sentinel = Sentinel()
  private var wantsSentinel = false
  private var gateway = ModelGateway()
  private var random: SplitMix64
  private let untaken: UnsafeMutablePointer<Untaken>
  private let leavesGaps: Bool
  /// The next identifier. Now and then one is left out, as if another window had taken it.
  private var identifier: UInt32
  /// Small payloads use up the window's entries; large ones use up its bytes.
  private let largest: Int
  /// Numbers by identifier, and how many were taken.
  private var numbers: [UInt32: Int] = [:]
  private var taken = 0
  private var ends: [Int: Outcome] = [:]
  private var lastEnd = -1
  private var ambiguousEnds = 0
  private var shownUnknown = false

  init(seed: UInt64, untaken: UnsafeMutablePointer<Untaken>, firstIdentifier: UInt32 = 1) {
    random = SplitMix64(seed: seed)
    self.untaken = untaken
    largest = Bool.random(using: &random) ? 700 : 8
    leavesGaps = Bool.random(using: &random)
    identifier = firstIdentifier
    window = Window(bytes: 16 << 10, untaken: untaken)!
  }

  /// Returns what went wrong; nil if nothing did.
  mutating func play() -> String? {
    for _ in 0..<(20 + Int.random(in: 0..<300, using: &random)) {
      if let fault = step() { return fault }
    }
    // The drain: within this many steps everything has its outcome.
    for _ in 0..<2000 {
      if window.isEmpty { return validate() }
      wantsSentinel = true
      write(limit: 16384)
      if let fault = deliver() ?? takeOutcomes() { return fault }
    }
    return "the drain came to no end: \(window.unresolved) unresolved"
  }

  private mutating func step() -> String? {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50:
      // Small ones come in bursts; otherwise they would never fill the window.
      for _ in 0..<(largest > 100 ? 1 : 20) { if let fault = send() { return fault } }
    case 50..<75: write(limit: Int.random(in: 1...4096, using: &random))
    case 75..<85: return deliver()
    case 85..<88:
      return endWithoutAWord()
    case 88..<89:
      if let packet = gateway.shutDown() { return heard(packet) }
    case 89..<90:
      // A packet that names nothing in flight proves nothing: an identifier of 0, a
      // stranger, or one that was never written.
      let written = numbers.filter { gateway.arrived.contains($0.value) }
      let unwritten = numbers.keys.filter { written[$0] == nil }.max() ?? 0
      let identifier: UInt32 =
        switch Int.random(in: 0..<3, using: &random) {
        case 0: 0
        case 1: .random(in: 1 << 20...1 << 24, using: &random)
        default: gateway.isMidFrame ? 0 : unwritten
        }
      let decision = window.errorPacket(
        status: 8, identifier: identifier, sentinel: sentinel)
      if decision != .ambiguous { return "a packet for identifier \(identifier) settled something" }
    case 90..<92: wantsSentinel = true
    default: return takeOutcomes()
    }
    return nil
  }

  /// The connection ends, and nothing says which notification was last.
  private mutating func endWithoutAWord() -> String? {
    let inFlight = window.hasInFlight
    if inFlight { ambiguousEnds += 1 }
    let resend = Bool.random(using: &random)
    if !resend || ambiguousEnds >= 5 { shownUnknown = true }
    let before = window.unknown
    window.connectionEnded(resending: resend ? .usual : .none)
    connectionBegins()
    if !resend, inFlight, window.unknown == before {
      return "in flight: \(inFlight), but unknown \(before) and then \(window.unknown)"
    }
    return nil
  }

  private mutating func send() -> String? {
    let number = taken
    let payload = [UInt8](repeating: 0x78, count: Int.random(in: 1...largest, using: &random))
    let place: Int? = ModelGateway.token(number).withUnsafeBytes { token in
      payload.withUnsafeBytes { payload in
        let notification = WireNotification(token: token, payload: payload, identifier: identifier)
        let size = FrameEncoder.size(of: notification, as: .framed)!
        window.giveWay()
        guard let place = window.reserve(size) else { return nil }
        FrameEncoder.encode(
          notification, as: .framed, size: size, into: window.ring.address(place))
        window.commit(
          place, size: size, identifier: identifier,
          userData: UnsafeMutableRawPointer(bitPattern: number + 1), hasUsualToken: true,
          due: .max)
        return place
      }
    }
    guard place != nil else { return nil }
    if numbers.updateValue(number, forKey: identifier) != nil { return "identifier twice" }
    taken += 1
    nextIdentifier()
    return nil
  }

  private mutating func nextIdentifier() {
    repeat {
      identifier = identifier == .max ? 1 : identifier + 1
    } while leavesGaps && Int.random(in: 0..<4, using: &random) == 0
  }

  private mutating func connectionBegins() {
    gateway.connectionBegins()
    sentinel = Sentinel()
  }

  private mutating func write(limit: Int) {
    if !sentinel.isBegun {
      let record = window.nextRecord(limit: limit)
      if record.count > 0 {
        receive(record)
        window.wrote(record.count)
      }
      guard window.hasInFlight,
        window.flightNeedsProof || wantsSentinel && !window.hasUnwritten
      else { return }
    }
    if !sentinel.isWhole { writeSentinel(limit: limit) }
  }

  private mutating func writeSentinel(limit: Int) {
    let braces: [UInt8] = [0x7B, 0x7D]
    braces.withUnsafeBytes { payload in
      var notification = WireNotification(
        token: UnsafeRawBufferPointer(start: nil, count: 0), payload: payload,
        identifier: identifier)
      let size = FrameEncoder.size(of: notification, as: .framed)!
      #expect(size <= Sentinel.room)
      if !sentinel.isBegun {
        sentinel.begin(identifier, size: size)
        nextIdentifier()
      }
      notification.identifier = sentinel.identifier
      withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { frame in
        FrameEncoder.encode(notification, as: .framed, size: size, into: frame.baseAddress!)
        let end = min(size, sentinel.written + limit)
        receive(UnsafeRawBufferPointer(rebasing: frame[sentinel.written..<end]))
        sentinel.wrote(end - sentinel.written)
      }
    }
    wantsSentinel = false
  }

  private mutating func receive(_ record: UnsafeRawBufferPointer) {
    let byName = Bool.random(using: &random)
    let statuses: [UInt8] = byName ? [2, 5, 8, 128] : [2, 5]
    gateway.receive(
      record, sentinelStatus: statuses.randomElement(using: &random)!, sentinelByName: byName)
  }

  /// The gateway's packet arrives, if it has sent one.
  private mutating func deliver() -> String? {
    guard let packet = gateway.packet else { return nil }
    return heard(packet)
  }

  private mutating func heard(_ packet: ErrorPacket) -> String? {
    let decision = window.errorPacket(
      status: packet.status, identifier: packet.identifier, sentinel: sentinel)
    let isRejection = packet.status != ErrorPacket.shutdown && numbers[packet.identifier] != nil
    let isRight =
      switch decision {
      case .rejected(let bytes): isRejection && bytes >= 0 && bytes < window.ring.size
      case .proven: !isRejection
      case .ambiguous, .noError: false
      }
    if !isRight {
      return "\(packet) resolved as \(decision)"
    }
    connectionBegins()
    return nil
  }

  private mutating func takeOutcomes() -> String? {
    while let next = window.takeOutcome() {
      guard let number = numbers[next.identifier] else { return "an outcome of nobody" }
      if Int(bitPattern: next.userData) != number + 1 { return "user data of another" }
      if number <= lastEnd { return "outcome of \(number) after that of \(lastEnd)" }
      lastEnd = number
      if ends.updateValue(next.outcome, forKey: number) != nil { return "\(number) ended twice" }
      switch next.outcome {
      case .accepted:
        if untaken.pointee.reporting == .failures {
          return "\(number) accepted, which nobody wanted to know"
        }
        if gateway.accepted[number] == nil { return "\(number) was never accepted" }
      case .rejected(let status):
        if !gateway.rejected.contains(number) || status != 8 { return "\(number) not rejected" }
      case .unknown:
        if !shownUnknown { return "\(number) unknown without a reason" }
        if !gateway.arrived.contains(number) { return "\(number) unknown, but never sent whole" }
      case .cancelled, .expired: return "\(number) cancelled or expired, which nobody asked for"
      }
    }
    return nil
  }

  private mutating func validate() -> String? {
    if let fault = takeOutcomes() { return fault }
    if window.taken != taken { return "took \(window.taken), not \(taken)" }
    if window.accepted + window.rejected + window.unknown != taken {
      return "\(window.accepted) + \(window.rejected) + \(window.unknown) is not \(taken)"
    }
    let told = ends.count + Int(untaken.pointee.forgotten)
    if untaken.pointee.reporting != .failures, told != taken { return "\(told) ends of \(taken)" }
    if window.waitingOutcomes != 0 || window.unresolved != 0 { return "something is left" }
    for number in 0..<taken {
      let times = gateway.accepted[number] ?? 0
      if times > 1, ambiguousEnds == 0 { return "\(number) accepted \(times) times" }
      if ends[number] == nil {
        if ModelGateway.isBad(number) { return "\(number) is bad, and nobody was told" }
        if times == 0 { return "\(number) was lost" }
      }
    }
    if gateway.heard != gateway.heard.sorted() { return "order was not kept" }
    return nil
  }
}
