import Testing

@testable import Relay

/// A bucket that relays share, in virtual time. Serialized, because the cluster tests share servers.
@Suite(.serialized, .endsTheCluster) final class RateLimitTests {
  /// The queue's values, which answer late and can be unreachable.
  private final class Store: AppStateStore, @unchecked Sendable {
    let queue: any AppStateStore
    var reads = 0
    var isReachable = true
    /// Called before a read, and between it and its answer.
    var beforeItReads: () throws -> Void = {}
    var whileItReads: () throws -> Void = {}

    init(_ queue: any AppStateStore) { self.queue = queue }

    func appState(_ name: String, app: String) throws -> String? {
      guard isReachable else { throw RelayFault("unreachable") }
      reads += 1
      try beforeItReads()
      let found = try queue.appState(name, app: app)
      try whileItReads()
      return found
    }

    func setAppState(_ name: String, _ text: String?, app: String) throws {
      try queue.setAppState(name, text, app: app)
    }

    func replaceAppState(
      _ name: String, _ old: String?, by text: String, app: String
    ) throws -> Bool {
      guard isReachable else { throw RelayFault("unreachable") }
      return try queue.replaceAppState(name, old, by: text, app: app)
    }
  }

  /// A relay that always has something to send.
  private final class Taker {
    var limit: RateLimit
    /// How far its clock is ahead, in microseconds.
    let ahead: Int64
    var sent = 0

    init(_ perSecond: Int, ahead: Int64 = 0) {
      limit = RateLimit(perSecond, bucket: RateLimit.ofApp)!
      self.ahead = ahead
    }
  }

  private static let hour: Int64 = 3_600_000_000

  /// Microseconds.
  private var now: Int64 = 10 * hour
  private let store = Store(MemoryQueue())
  private var asking: Taker?

  private func send(_ taker: Taker, upTo wanted: Int = 10_000) throws -> Int {
    let ahead = taker.ahead
    asking = taker
    taker.limit.begin()
    let count = try taker.limit.take(upTo: wanted, store, app: "shop") { self.now + ahead }
    taker.limit.use(count)
    taker.sent += count
    return count
  }

  /// Lets the takers send all that they may, and returns the number.
  private func send(_ takers: [Taker], seconds: Double) throws -> Int {
    let (end, before) = (now + Int64(seconds * 1e6), takers.reduce(0) { $0 + $1.sent })
    while now < end {
      for taker in takers where now + taker.ahead >= taker.limit.waitsUntil * 1000 {
        while try send(taker) > 0 {}
      }
      now += 1000
    }
    return takers.reduce(0) { $0 + $1.sent } - before
  }

  /// The most that an idle bucket has: tokens of 40 ms, or one and those of 20 ms.
  private func kept(_ perSecond: Int) -> Int { max(perSecond / 25, 1 + perSecond / 50) }

  private func expectRate(
    _ sent: Int, _ perSecond: Int, seconds: Double, clocks: Int = 1,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let expected = Int(Double(perSecond) * seconds)
    // The last chunk may be still to come, and each clock that is ahead of all begins with what an
    // idle bucket has.
    let least = expected - clocks * max(1, perSecond / 50)
    let most = expected + clocks * kept(perSecond)
    #expect((least...most).contains(sent), sourceLocation: sourceLocation)
  }

  @Test(arguments: [1, 3, 70, 500, 99_999, 100_000]) func theRateIsKept(_ perSecond: Int) throws {
    let takers = [Taker(perSecond)]
    expectRate(try send(takers, seconds: 20), perSecond, seconds: 20)
  }

  @Test(arguments: [(1, 1), (20, 1), (500, 20), (100_000, 4000)])
  func anIdleAppGathersLittle(_ perSecond: Int, _ most: Int) throws {
    let takers = [Taker(perSecond)]
    _ = try send(takers, seconds: 1)
    now += Self.hour
    let before = takers[0].sent
    while try send(takers[0]) > 0 {}
    #expect(takers[0].sent - before == most)
  }

  @Test func aChunkIsTakenAtMost() throws {
    let taker = Taker(500)
    #expect(try send(taker) == 10)
    #expect(try send(taker, upTo: 3) == 3)
    #expect(store.reads == 2)
  }

  @Test(arguments: [1, 70, 500, 20_000]) func severalShareTheRate(_ perSecond: Int) throws {
    let takers = [Taker(perSecond), Taker(perSecond), Taker(perSecond)]
    expectRate(try send(takers, seconds: 20), perSecond, seconds: 20)
  }

  /// Another relay takes as many between a read and the change that follows.
  @Test(arguments: Engine.here) func twoAtOnceDoNotTakeTheSame(_ engine: Engine) throws {
    let place = try engine.place()
    let (own, others) = (Store(try place.open()), try place.open())
    var (one, other) = (Taker(500).limit, Taker(500).limit)
    var isFirst = true
    own.whileItReads = {
      guard isFirst else { return }
      isFirst = false
      let taken = try other.take(upTo: 10, others, app: "shop") { self.now }
      #expect(taken == 10)
    }
    #expect(try one.take(upTo: 10, own, app: "shop") { self.now } == 10)
    #expect(own.reads == 2)
    one.use(10)
    #expect(try one.take(upTo: 1, own, app: "shop") { self.now } == 0)
    // The time of a token, and up to 5 ms so that another relay may be first.
    #expect((2...7).contains(one.waitsUntil - now / 1000))
  }

  /// In both directions. A relay whose clock is behind continues when the others end.
  @Test(arguments: [hour, -hour, 700]) func clocksMayDiffer(_ ahead: Int64) throws {
    let takers = [Taker(500), Taker(500, ahead: ahead), Taker(500, ahead: ahead / 2)]
    expectRate(try send(takers, seconds: 10), 500, seconds: 10, clocks: 3)
    let last = [takers[0]]
    expectRate(try send(last, seconds: 10), 500, seconds: 10, clocks: 2)
    for taker in takers { taker.sent = 0 }
    expectRate(try send(takers, seconds: 10), 500, seconds: 10, clocks: 2)
    // And the others get their part.
    #expect(takers.allSatisfy { $0.sent > 500 })
  }

  /// The bucket's clock must not gain what the queue takes to answer.
  @Test func aSlowQueueDoesNotSpeedItUp() throws {
    let takers = [Taker(500), Taker(500)]
    let began = now
    var isInTurn = true
    store.beforeItReads = {
      guard isInTurn else { return }
      isInTurn = false
      self.now += 3000
      let first = self.asking
      for taker in takers where taker !== first { _ = try self.send(taker) }
      isInTurn = true
    }
    let sent = try send(takers, seconds: 20)
    #expect(sent <= Int(now - began) / 2000 + 2 * kept(500))
    #expect(sent > 7000)
  }

  @Test func theRateMayChange() throws {
    let slow = [Taker(1)]
    expectRate(try send(slow, seconds: 5), 1, seconds: 5)
    // Both exist for a moment.
    let both = [slow[0], Taker(500)]
    #expect(try send(both, seconds: 1) < 500 + 2 * kept(500))
    let fast = [both[1]]
    expectRate(try send(fast, seconds: 5), 500, seconds: 5)
    let slowAgain = [Taker(1)]
    expectRate(try send(slowAgain, seconds: 5), 1, seconds: 5)
  }

  @Test func aKilledRelayLosesAChunk() throws {
    var takers = [Taker(500), Taker(500)]
    _ = try send(takers, seconds: 1)
    let before = takers[0].sent
    // Takes tokens, and sends nothing.
    while try takers[1].limit.take(upTo: 100, store, app: "shop", clock: { self.now }) == 0 {
      now += 1000
    }
    let began = now
    takers.removeLast()
    _ = try send(takers, seconds: 5)
    let due = Int(now - began) / 2000
    #expect((due - 10...due + kept(500)).contains(takers[0].sent - before))
  }

  @Test func tokensAreNotSavedUp() throws {
    let taker = Taker(500)
    #expect(try taker.limit.take(upTo: 10, store, app: "shop") { self.now } == 10)
    now += 2_000_000
    while try send(taker) > 0 {}
    #expect(taker.sent == kept(500))
  }

  @Test func theQueueIsAskedOnlyIfThereMayBeTokens() throws {
    let takers = [Taker(1)]
    let began = now
    while now < began + 10_000_000 {
      _ = try send(takers[0])
      now += 1000
    }
    #expect(takers[0].sent == 10 || takers[0].sent == 11)
    #expect(store.reads == takers[0].sent)
  }

  @Test func withoutItsQueueItHasNoTokens() throws {
    let takers = [Taker(500)]
    _ = try send(takers, seconds: 1)
    store.isReachable = false
    now += 100_000
    #expect(throws: RelayFault.self) { try send(takers[0]) }
    let asked = now
    store.isReachable = true
    // A second later it asks again.
    now += 999_000
    let reads = store.reads
    #expect(try send(takers[0]) == 0)
    #expect(store.reads == reads && takers[0].limit.waitsUntil * 1000 == asked + 1_000_000)
    now += 1000
    #expect(try send(takers[0]) == 10)
  }

  @Test(arguments: [
    "", "rate", "-5", "99999999999999999999 5 x", "5 9223372036854775807 x", "99999999999999 5",
  ])
  func whatIsNoTimeIsReplaced(_ text: String) throws {
    try store.setAppState(RateLimit.ofApp, text, app: "shop")
    let takers = [Taker(500)]
    expectRate(try send(takers, seconds: 5), 500, seconds: 5)
  }

  @Test func thereMayBeNoLimit() { #expect(RateLimit(0, bucket: RateLimit.ofApp) == nil) }
}
