import Foundation
import XCTest

@testable import Relay

final class RedisQueueTests: QueueRules {
  var server: RedisServer!

  override func setUpWithError() throws {
    try super.setUpWithError()
    // What is written is on the disk before it is answered: the tests kill this Redis.
    server = try RedisServer(place, ["--appendonly", "yes", "--appendfsync", "always"])
  }

  override func tearDown() {
    server?.kill()
    super.tearDown()
  }

  override func open(_ place: String) throws -> any QueueEngine {
    try RedisQueue(RedisAddress("unix:\(place)/redis.sock"))
  }

  override func ends(_ queue: any QueueEngine) throws -> [String] {
    try results().map { "\($0.id)/\($0.outcome.position) \($0.outcome.end.rawValue)" }
  }

  private func results() throws -> [(id: String, outcome: PushOutcome)] {
    try server.stream("apns:{shop}:out").flatMap { try Self.outcomes($0) }
  }

  /// Of a record of "out", whose elements have many each.
  static func outcomes(_ record: [String: String]) throws -> [(id: String, outcome: PushOutcome)] {
    let list = try JSONSerialization.jsonObject(with: Data((record["outcomes"] ?? "").utf8))
    let ids = try XCTUnwrap(list as? [[String: Any]]).flatMap { one in
      ((one["devices"] as? [Any]) ?? []).map { _ in one["id"] as? String ?? "?" }
    }
    return zip(ids, OutcomeList.read(record["outcomes"] ?? "")).map { ($0, $1) }
  }

  override func story(_ queue: any QueueEngine, of id: String) throws -> String {
    try server.stream("apns:{shop}:dead").first { $0["id"] == id }?["story"] ?? ""
  }

  func entry(_ id: String) -> NewEntry {
    NewEntry(app: "shop", id: id, token: "00", payload: "{\"aps\":{}}")
  }

  func accepted(_ entries: [Entry]) -> [Verdict] {
    entries.map { Verdict($0, [PushOutcome(position: 0, token: "00", end: .accepted)], .finished) }
  }

  func join(_ queue: any QueueEngine) throws -> WorkerSeat {
    try queue.join(app: "shop", named: "a test", at: now)
  }

  /// What a client in any language does.
  func add(_ fields: String...) throws {
    var command = RedisCommand("XADD", "apns:{shop}:in", "*")
    for field in fields { command.add(field) }
    _ = try RedisConnection(server.address).demand(command)
  }

  // MARK: A Redis that forgets

  private let list = NewEntry(
    app: "shop", id: "a", tokens: "[\"00\",\"01\",\"02\"]", payload: "{}")

  private func claimTheList() throws -> (any QueueEngine, WorkerSeat, Entry) {
    let queue = try open(place)
    _ = try queue.enqueue([list], at: now)
    let seat = try join(queue)
    return (queue, seat, try XCTUnwrap(queue.claim(seat, room: 9, at: now).first))
  }

  private func accepted(_ positions: Int...) -> [PushOutcome] {
    positions.map { PushOutcome(position: $0, token: WrittenToken("0\($0)"), end: .accepted) }
  }

  /// With appendfsync everysec a Redis that is killed may lose what it had confirmed.
  func testOutcomesThatRedisForgotAreMadeAgain() throws {
    let (queue, seat, entry) = try claimTheList()
    try queue.record([Verdict(entry, accepted(0), .held)], by: seat, at: now)
    let number = try XCTUnwrap(
      server.ask("XRANGE", "apns:{shop}:in", "-", "+").list.first?.list.first?.text)
    try server.ask("DEL", "apns:{shop}:out")
    try server.ask("HSET", "apns:{shop}:ids", "a", "\(number)||")
    try queue.record([Verdict(entry, accepted(1, 2), .finished)], by: seat, at: now)
    XCTAssertEqual(try ends(queue), ["a/1 accepted", "a/2 accepted"])
    let again = try XCTUnwrap(queue.claim(seat, room: 9, at: now).first)
    XCTAssertEqual(again.answered, [1, 2])
    XCTAssertEqual(again.deliveries, 2)
    try queue.record([Verdict(again, accepted(0), .finished)], by: seat, at: now)
    XCTAssertEqual(try ends(queue).sorted(), ["a/0 accepted", "a/1 accepted", "a/2 accepted"])
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now), [])
  }

  /// A replica that takes over may have an entry, and not that somebody has it.
  func testOutcomesStayKnownWhenRedisForgetsWhoHasTheEntry() throws {
    for isAddedAgain in [false, true] {
      try server.ask("FLUSHALL")
      let (queue, seat, entry) = try claimTheList()
      try server.ask("HDEL", "apns:{shop}:ids", "a")
      if isAddedAgain {
        // It has forgotten the entry as well.
        try server.ask("XGROUP", "DESTROY", "apns:{shop}:in", "relay")
        try server.ask("DEL", "apns:{shop}:in")
      } else {
        try server.ask("XGROUP", "SETID", "apns:{shop}:in", "relay", "0")
      }
      try queue.record([Verdict(entry, accepted(0, 2), .held)], by: seat, at: now)
      XCTAssertNotNil(try queue.known(["a"], app: "shop")["a"]?.outcome)
      // There may be two then, of which one is taken.
      XCTAssertEqual(try queue.enqueue([list], at: now), 1)

      let other = try open(place)
      let again = try XCTUnwrap(other.claim(try join(other), room: 9, at: now).first)
      XCTAssertEqual(again.answered, [0, 2])
      try other.record([Verdict(again, accepted(1), .finished)], by: seat, at: now)
      // The first one does not know that.
      try queue.record([Verdict(entry, accepted(1), .finished)], by: seat, at: now)
      XCTAssertEqual(try ends(queue).sorted(), ["a/0 accepted", "a/1 accepted", "a/2 accepted"])
      XCTAssertEqual(try queue.claim(seat, room: 9, at: now), [])
      XCTAssertEqual(try queue.depths(at: now)["shop"], QueueDepth())
      // What is done goes with its outcomes.
      XCTAssertEqual(try queue.trim(before: now + 1000), 3)
      XCTAssertEqual(try server.ask("EXISTS", "apns:{shop}:ids").number, 0)
    }
  }

  func testOutcomesOfAnEntryThatRedisForgotGoOneDay() throws {
    let (queue, seat, entry) = try claimTheList()
    try server.ask("DEL", "apns:{shop}:ids", "apns:{shop}:in")
    try queue.record([Verdict(entry, accepted(0), .held)], by: seat, at: now)
    XCTAssertEqual(try queue.trim(before: now + 1000), 1)
    XCTAssertEqual(try server.ask("EXISTS", "apns:{shop}:ids").number, 0)
  }

  /// As after a claim of a worker that was taken for dead: verdicts of one entry are in one batch.
  func testAnEntryThatAWorkerHasTwiceEndsOnce() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let seat = try join(queue)
    let got = accepted(try queue.claim(seat, room: 9, at: now))
    var later = got[0]
    later.next = .later(at: now, isAnswered: false, story: "a test")
    later.outcomes = []
    try queue.record(got + got + [later], by: seat, at: now)
    XCTAssertEqual(try ends(queue).sorted(), ["a/0 accepted", "b/0 accepted"])
    XCTAssertEqual(try queue.depths(at: now)["shop"], QueueDepth())
  }

  // MARK: Producers of any language

  func testWhatAnyClientAddsIsDoneOnceForEachID() throws {
    let queue = try open(place)
    // Before any relay has been there.
    for _ in 1...2 { try add("id", "a", "token", "00", "payload", "{}", "priority", "5") }
    try add("token", "00", "payload", "{}", "trace", "its writer's own")
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    XCTAssertEqual(got.count, 2)
    XCTAssertEqual(got.first?.content.priority, 5)
    XCTAssertEqual(got.compactMap(\.fault), [])
    try add("id", "a", "token", "00", "payload", "{}")
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now), [])
    try queue.record(accepted(got), by: seat, at: now)
    try add("id", "a", "token", "00", "payload", "{}")
    XCTAssertEqual(try queue.enqueue([entry("a")], at: now), 0)
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now), [])
    XCTAssertEqual(try queue.depths(at: now)["shop"], QueueDepth())
    XCTAssertEqual(try server.ask("XLEN", "apns:{shop}:in").number, 0)
  }

  func testAMalformedEntryIsRefusedAndStopsNobody() throws {
    let queue = try open(place)
    let long = String(repeating: "x", count: 65)
    try add("id", "no-payload", "token", "00")
    try add("id", "no-token", "payload", "{}")
    try add("id", "both", "token", "00", "tokens", "[]", "payload", "{}")
    try add("id", "priority", "token", "00", "payload", "{}", "priority", "high")
    try add("id", "expiry", "token", "00", "payload", "{}", "expiry", "1.5")
    try add("id", long, "token", "00", "payload", "{}")
    try add("id", "", "token", "00", "payload", "{}")
    try add("id", "tokens", "tokens", "{", "payload", "{}")
    try add("what", "ever")
    var bytes = RedisCommand("XADD", "apns:{shop}:in", "*", "id", "bytes", "token", "00", "payload")
    bytes.add([0xFF, 0x00])
    _ = try RedisConnection(server.address).demand(bytes)
    var badID = RedisCommand("XADD", "apns:{shop}:in", "*", "token", "00", "payload", "{}", "id")
    badID.add([0xED, 0xA0, 0x80])
    _ = try RedisConnection(server.address).demand(badID)
    try add("id", "good", "token", "00", "payload", "{}")
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 100, at: now)
    XCTAssertEqual(got.count, 12)
    // As a worker takes them.
    let rules = DeliveryRules(deliveries: 5, tries: 5, unknown: .again)
    var verdicts: [Verdict] = []
    for entry in got {
      let held = HeldEntry(entry)
      if let next = held.next {
        verdicts.append(Verdict(entry, held.fresh, next))
      } else {
        XCTAssertEqual(entry.content.id, "good")
        XCTAssertFalse(rules.refuses(held, now: now))
        verdicts += accepted([entry])
      }
    }
    try queue.record(verdicts, by: seat, at: now)
    let out = try results()
    XCTAssertEqual(out.count { $0.outcome.end == .refused }, 11)
    XCTAssertEqual(out.last?.id, "good")
    XCTAssertEqual(
      out.map(\.outcome.reason).filter { !$0.isEmpty },
      [
        "the entry has no payload", "the entry has no token, tokens or channel",
        "the entry has more than one of token, tokens and channel",
        "priority must be a whole number",
        "expiry must be a whole number", "the id has more than 64 characters", "the id is empty",
        "tokens: expected an array, at byte 1", "the entry has no payload",
        "payload is no text in UTF-8", "the id is no text in UTF-8",
      ])
    XCTAssertEqual(try queue.depths(at: now)["shop"], QueueDepth())
  }

  // MARK: Redis comes and goes

  /// Any program may write there, and what it wrote is added to and multiplied.
  func testNumbersThatCannotBeStopNobody() throws {
    let queue = try open(place)
    let score = Double(now) * 1000
    for name in ["bad", "feedback", "gone"] {
      for (number, token) in [
        ("inf", "aa"), ("-inf", "ab"), ("1e300", "ac"), ("-9223372036854775808", "ad"),
        ("\(score)", "ae"),
      ] {
        _ = try server.ask("ZADD", "apns:{shop}:\(name)", number, token)
      }
    }
    let refused = try queue.refused(app: "shop", behind: 0, most: 100)
    XCTAssertEqual(refused.map(\.token), ["ae"])
    XCTAssertEqual(try queue.feedback(app: "shop", most: 100).map(\.token), ["ae"])
    try add("id", "a", "token", "00", "payload", "{}")
    let stored = try server.ask("XRANGE", "apns:{shop}:in", "-", "+").list.first?.list.first?.text
    for (answers, most) in [("9223372036854775807", 1 << 31), ("-9223372036854775808", 0)] {
      _ = try server.ask("HSET", "apns:{shop}:answers", try XCTUnwrap(stored), answers)
      let seat = try join(queue)
      let got = try queue.claim(seat, room: 9, at: now)
      XCTAssertEqual(got.map(\.answers), [most])
      let held = HeldEntry(try XCTUnwrap(got.first))
      _ = DeliveryRules(deliveries: 5, tries: 5, unknown: .again).refuses(held, now: now)
      try queue.leave(seat, saying: "", at: now)
    }
    _ = try server.ask("HSET", "apns:jwt:{t:k}", "token", "x", "made", "9223372036854775807")
    let made = try queue.providerToken(
      team: "t", key: "k", madeAfter: 0, at: now, within: 1000
    ) { SharedToken(text: "new", made: now) }
    XCTAssertEqual(made.text, "new")
  }

  func testNothingIsLostWhenRedisIsKilled() throws {
    let queue = try open(place)
    let ids = (1...300).map { "id-\($0)" }
    _ = try queue.enqueue(ids.map { entry($0) }, at: now)
    let seat = try join(queue)
    let first = try queue.claim(seat, room: 100, at: now)
    try queue.record(accepted(Array(first.prefix(40))), by: seat, at: now)
    server.kill()
    let held = accepted(Array(first.dropFirst(40)))
    XCTAssertThrowsError(try queue.record(held, by: seat, at: now)) {
      XCTAssertTrue($0 is QueueFault, "\($0)")
      XCTAssertTrue("\($0)".contains(self.server.socket), "\($0)")
    }
    XCTAssertThrowsError(try queue.check())
    try server.start()
    try waitUntilItAnswers(queue)
    XCTAssertTrue(try queue.renew(seat, at: now))
    try queue.record(held, by: seat, at: now)
    while true {
      let got = try queue.claim(seat, room: 100, at: now)
      if got.isEmpty { break }
      XCTAssertEqual(got.map(\.deliveries), got.map { _ in 1 })
      try queue.record(accepted(got), by: seat, at: now)
    }
    XCTAssertEqual(try ends(queue).sorted(), ids.map { "\($0)/0 accepted" }.sorted())
    XCTAssertEqual(try queue.enqueue(ids.map { entry($0) }, at: now), 0)
  }

  /// After a failure no connection is tried for a moment.
  private func waitUntilItAnswers(_ queue: any QueueEngine) throws {
    let limit = Date(timeIntervalSinceNow: 60)
    while true {
      do {
        return try queue.check()
      } catch {
        if Date() > limit { throw error }
        usleep(10_000)
      }
    }
  }

  func testWhoCouldNotBeHeardIsNotSilent() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    XCTAssertEqual(try queue.claim(join(queue), room: 9, at: now).count, 1)
    server.kill()
    XCTAssertThrowsError(try queue.check())
    try server.start()
    try waitUntilItAnswers(queue)
    // A lease of 100 s, and Redis was away for 200 s.
    XCTAssertEqual(try queue.reclaim(silentSince: now + 100_000, at: now + 200_000), 0)
    XCTAssertEqual(try queue.reclaim(silentSince: now + 199_999, at: now + 299_999), 0)
    XCTAssertEqual(try queue.reclaim(silentSince: now + 200_001, at: now + 300_001), 1)
  }

  func testWhatALostAnswerGaveComesAgainAtOnce() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b"), entry("c")], at: now)
    let seat = try join(queue)
    let own = try queue.claim(seat, room: 1, at: now)
    XCTAssertEqual(own.map(\.content.id), ["a"])
    // The answer of this one goes elsewhere, which is to the worker as if it was lost.
    XCTAssertEqual(try open(place).claim(seat, room: 1, at: now).map(\.content.id), ["b"])
    try server.ask("CLIENT", "KILL", "TYPE", "normal")
    XCTAssertThrowsError(try queue.claim(seat, room: 9, at: now))
    let again = try queue.claim(seat, room: 9, at: now)
    XCTAssertEqual(again.map(\.content.id), ["b", "c"])
    XCTAssertEqual(again.map(\.deliveries), [1, 1])
  }

  func testABatchThatIsRecordedTwiceCountsOnce() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b"), entry("c")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    let batch =
      accepted([got[0]]) + [
        Verdict(got[1], [], .later(at: now + 5, isAnswered: true, story: "429")),
        Verdict(got[2], [], .untouched),
      ]
    try queue.record(batch, by: seat, at: now)
    try queue.record(batch, by: seat, at: now)
    let again = try queue.claim(seat, room: 9, at: now + 5)
    XCTAssertEqual(again.map(\.content.id).sorted(), ["b", "c"])
    XCTAssertEqual(again.first { $0.content.id == "b" }?.answers, 1)
    // One of an earlier delivery says nothing of this one.
    try queue.record([batch[1]], by: seat, at: now + 5)
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.held, 2)
    XCTAssertEqual(try ends(queue), ["a/0 accepted"])
  }

  func testNothingIsRecordedOfABatchThatFails() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    try server.ask("SET", "apns:{shop}:gone", "of another type")
    XCTAssertThrowsError(try queue.record(accepted(got), by: seat, at: now)) {
      XCTAssertTrue("\($0)".contains("WRONGTYPE"), "\($0)")
    }
    XCTAssertEqual(try ends(queue), [])
    try server.ask("DEL", "apns:{shop}:gone")
    try queue.record(accepted(got), by: seat, at: now)
    XCTAssertEqual(try ends(queue), ["a/0 accepted"])
  }

  func testARedisThatForgotEverythingIsUsedAnew() throws {
    let queue = try open(place)
    let seat = try join(queue)
    try server.ask("SCRIPT", "FLUSH")
    XCTAssertTrue(try queue.renew(seat, at: now))
    try server.ask("FLUSHALL")
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now), [])
    XCTAssertFalse(try queue.renew(seat, at: now))
    let next = try join(queue)
    _ = try queue.enqueue([entry("a")], at: now)
    XCTAssertEqual(try queue.claim(next, room: 9, at: now).count, 1)
  }

  func testAWrongPasswordIsSaid() throws {
    try server.ask("ACL", "SETUSER", "relay", "on", ">right", "~apns:*", "+@all")
    func address(_ user: String?, _ password: String) throws -> RedisAddress {
      var address = try server.address
      address.user = user
      address.password = password
      return address
    }
    XCTAssertNoThrow(try RedisQueue(address("relay", "right")).check())
    XCTAssertThrowsError(try RedisQueue(address("relay", "hunter2"))) {
      XCTAssertTrue("\($0)".contains("refuses user or password: WRONGPASS"), "\($0)")
      XCTAssertTrue("\($0)".contains(self.server.socket), "\($0)")
      XCTAssertFalse("\($0)".contains("hunter2"), "\($0)")
    }
    try server.ask("CONFIG", "SET", "requirepass", "right")
    XCTAssertThrowsError(try RedisQueue(server.address)) {
      XCTAssertTrue("\($0)".contains("NOAUTH"), "\($0)")
    }
  }

  func testARedisThatIsNotThereIsNamed() throws {
    // Bound, so that nobody else is there, and not listening.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        XCTAssertEqual(bind(descriptor, $0, length), 0)
        XCTAssertEqual(getsockname(descriptor, $0, &length), 0)
      }
    }
    let port = UInt16(bigEndian: place.sin_port)
    XCTAssertThrowsError(try RedisQueue(RedisAddress("redis://127.0.0.1:\(port)"))) {
      XCTAssertEqual(
        "\($0)", "redis://127.0.0.1:\(port): no connection: Connection refused")
    }
  }

  func testARedisThatKeepsNothingIsWarnedOf() throws {
    XCTAssertEqual(try RedisQueue(server.address).warnings, [])
    try server.ask("CONFIG", "SET", "appendonly", "no")
    try server.ask("CONFIG", "SET", "maxmemory", "100mb")
    try server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    let said = try RedisQueue(server.address).warnings
    XCTAssertEqual(said.count, 2)
    XCTAssertTrue(said[0].contains("appendonly is off"), said[0])
    XCTAssertTrue(said[1].contains("noeviction"), said[1])
  }
}
