import Foundation
import Testing

@testable import Relay

@Suite(.needsRedis) struct RedisQueueTests {
  let now = QueueRules.now
  let place: RedisPlace
  var server: RedisServer { place.server }

  init() throws { place = try RedisPlace() }

  /// Adds an entry as a client in any language would.
  func add(_ fields: String...) throws {
    var command = RedisCommand("XADD", "apns:{shop}:in", "*")
    for field in fields { command.add(field) }
    _ = try RedisConnection(server.address).demand(command)
  }

  /// A producer adds to the lane's stream. A field that names another lane is an error.
  @Test func theStreamIsTheLane() throws {
    let queue = try place.open()
    let connection = try RedisConnection(server.address)
    for (stream, fields) in [
      ("bulk", ["id", "b", "lane", "bulk"]), ("urgent", ["id", "u"]),
      ("in", ["id", "n", "lane", ""]),
      ("in", ["id", "wrong", "lane", "urgent"]), ("in", ["id", "no", "lane", "fast"]),
    ] {
      var command = RedisCommand("XADD", "apns:{shop}:\(stream)", "*", "token", "00")
      for field in fields + ["payload", "{}"] { command.add(field) }
      _ = try connection.demand(command)
    }
    let got = try queue.claim(try queue.join(), room: 9, at: now)
    #expect(got.ids == ["u", "n", "wrong", "no", "b"])
    #expect(got.map(\.content.lane) == [.urgent, .normal, .normal, .normal, .bulk])
    #expect(
      got.map(\.fault) == [
        nil, nil, "lane is urgent, but the stream is that of normal entries",
        "lane is urgent, normal or bulk, not 'fast'", nil,
      ])
  }

  @Test func aFieldNamesTheCampaign() throws {
    let queue = try place.open()
    try add("id", "a", "token", "00", "payload", "{}", "campaign", "sale")
    try add("id", "b", "token", "00", "payload", "{}", "campaign", "")
    try add(
      "id", "c", "token", "00", "payload", "{}", "campaign", String(repeating: "x", count: 65))
    let got = try queue.claim(try queue.join(), room: 9, at: now)
    #expect(got.map(\.content.campaign) == ["sale", nil, nil])
    #expect(got.map(\.fault) == [nil, nil, "campaign does not have 1 to 64 characters"])
  }

  /// A producer's due time. The first of two entries with the same ID counts, though it waits.
  @Test func aFieldSaysWhenItIsDue() throws {
    let queue = try place.open()
    let now = RelayClock.now
    for (id, due) in [
      ("later", "\(now + 60_000)"), ("empty", ""), ("0", "0"), ("seconds", "\(now / 1000)"),
      ("soon", "soon"), ("far", "\(now + 400 * 86_400_000)"), ("inf", "inf"),
    ] {
      try add("id", id, "token", "00", "payload", "{}", "due", due)
    }
    try add("id", "later", "token", "01", "payload", "{}")
    let (workerID, got) = try queue.claimed(room: 99, at: now)
    let wrong = "due is in UNIX milliseconds, at most a year ahead"
    #expect(
      Dictionary(uniqueKeysWithValues: got.map { ($0.content.id, $0.fault ?? "") }) == [
        "empty": "", "0": "", "seconds": wrong, "soon": "due must be a whole number", "far": wrong,
        "inf": "due must be a whole number",
      ])
    let later = try queue.claim(workerID, room: 99, at: now + 61_000)
    #expect(later.ids == ["later"] && later.first?.content.token == "00")
  }

  // MARK: A Redis that loses writes

  private let list = NewEntry(app: "shop", id: "a", tokens: "[\"00\",\"01\",\"02\"]", payload: "{}")

  private func claimTheList() throws -> (any QueueEngine, WorkerID, Entry) {
    let queue = try place.open()
    _ = try queue.enqueue([list], at: now)
    let workerID = try queue.join()
    return (queue, workerID, try #require(queue.claim(workerID, room: 9, at: now).first))
  }

  private func accepted(_ positions: Int...) -> [PushOutcome] {
    positions.map { PushOutcome(position: $0, token: WrittenToken("0\($0)"), kind: .accepted) }
  }

  /// With appendfsync everysec a killed Redis may lose confirmed writes.
  @Test func outcomesThatRedisForgotAreMadeAgain() throws {
    let (queue, workerID, entry) = try claimTheList()
    try queue.record(entry, accepted(0), .held, by: workerID, at: now)
    let number = try #require(
      server.ask("XRANGE", "apns:{shop}:in", "-", "+").list.first?.list.first?.text)
    try server.ask("DEL", "apns:{shop}:out")
    try server.ask("HSET", "apns:{shop}:ids", "a", "\(number)||")
    try queue.record(entry, accepted(1, 2), .finished, by: workerID, at: now)
    #expect(try place.ends() == ["a/1 accepted", "a/2 accepted"])
    let again = try #require(queue.claim(workerID, room: 9, at: now).first)
    #expect(again.resolved == [1, 2])
    #expect(again.deliveries == 2)
    try queue.record(again, accepted(0), .finished, by: workerID, at: now)
    #expect(try place.ends().sorted() == ["a/0 accepted", "a/1 accepted", "a/2 accepted"])
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
  }

  /// A replica that takes over may have an entry, but not its claim.
  @Test func outcomesStayKnownWhenRedisForgetsWhoHasTheEntry() throws {
    for isAddedAgain in [false, true] {
      try server.ask("FLUSHALL")
      let (queue, workerID, entry) = try claimTheList()
      try server.ask("HDEL", "apns:{shop}:ids", "a")
      if isAddedAgain {
        // Redis has lost the entry as well.
        try server.ask("XGROUP", "DESTROY", "apns:{shop}:in", "relay")
        try server.ask("DEL", "apns:{shop}:in")
      } else {
        try server.ask("XGROUP", "SETID", "apns:{shop}:in", "relay", "0")
      }
      try queue.record(entry, accepted(0, 2), .held, by: workerID, at: now)
      #expect(try queue.known(["a"], app: "shop")["a"]?.outcome != nil)
      // There may be two entries then; one of them is processed.
      #expect(try queue.enqueue([list], at: now) == 1)

      let other = try place.open()
      let again = try #require(other.claim(try other.join(), room: 9, at: now).first)
      #expect(again.resolved == [0, 2])
      try other.record(again, accepted(1), .finished, by: workerID, at: now)
      // The first worker does not know that.
      try queue.record(entry, accepted(1), .finished, by: workerID, at: now)
      #expect(try place.ends().sorted() == ["a/0 accepted", "a/1 accepted", "a/2 accepted"])
      #expect(try queue.claim(workerID, room: 9, at: now) == [])
      #expect(try queue.depths(at: now)["shop"] == QueueDepth())
      // A finished ID is removed with its outcomes.
      #expect(try queue.trim(before: now + 1000) == 3)
      #expect(try server.ask("EXISTS", "apns:{shop}:ids").number == 0)
    }
  }

  @Test func outcomesOfAnEntryThatRedisForgotGoOneDay() throws {
    let (queue, workerID, entry) = try claimTheList()
    try server.ask("DEL", "apns:{shop}:ids", "apns:{shop}:in")
    try queue.record(entry, accepted(0), .held, by: workerID, at: now)
    #expect(try queue.trim(before: now + 1000) == 1)
    #expect(try server.ask("EXISTS", "apns:{shop}:ids").number == 0)
  }

  /// As after a claim by a worker whose lease had expired: one batch has two updates of one entry.
  @Test func anEntryThatAWorkerHasTwiceEndsOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a"), NewEntry("b")], at: now)
    let workerID = try queue.join()
    let got = try queue.claim(workerID, room: 9, at: now).accepted
    var later = got[0]
    later.disposition = .deferred(at: now, isRequested: false, line: "a test")
    later.outcomes = []
    try queue.record(got + got + [later], by: workerID, at: now)
    #expect(try place.ends().sorted() == ["a/0 accepted", "b/0 accepted"])
    #expect(try queue.depths(at: now)["shop"] == QueueDepth())
  }

  // MARK: Producers of any language

  @Test func whatAnyClientAddsIsDoneOnceForEachID() throws {
    let queue = try place.open()
    // Before the first relay.
    for _ in 1...2 { try add("id", "a", "token", "00", "payload", "{}", "priority", "5") }
    try add("token", "00", "payload", "{}", "trace", "its writer's own")
    let (workerID, got) = try queue.claimed()
    #expect(got.count == 2)
    #expect(got.first?.content.priority == 5)
    #expect(got.compactMap(\.fault) == [])
    try add("id", "a", "token", "00", "payload", "{}")
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
    try queue.record(got.accepted, by: workerID, at: now)
    try add("id", "a", "token", "00", "payload", "{}")
    #expect(try queue.enqueue([NewEntry("a")], at: now) == 0)
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
    #expect(try queue.depths(at: now)["shop"] == QueueDepth())
    #expect(try server.ask("XLEN", "apns:{shop}:in").number == 0)
  }

  @Test func aMalformedEntryIsRefusedAndStopsNobody() throws {
    let queue = try place.open()
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
    let (workerID, got) = try queue.claimed(room: 100)
    #expect(got.count == 12)
    // As a worker processes them.
    let rules = DeliveryRules(deliveries: 5, tries: 5, delivery: .atLeastOnce)
    var updates: [EntryUpdate] = []
    for entry in got {
      let held = HeldEntry(entry)
      if let next = held.disposition {
        updates.append(EntryUpdate(entry, held.fresh, next))
      } else {
        #expect(entry.content.id == "good")
        #expect(!rules.refuses(held, now: now))
        updates += [entry].accepted
      }
    }
    try queue.record(updates, by: workerID, at: now)
    let out = try RedisPlace.outcomes(server.stream("apns:{shop}:out"))
    #expect(out.count { $0.outcome.kind == .refused } == 11)
    #expect(out.last?.id == "good")
    #expect(
      out.map(\.outcome.reason).filter { !$0.isEmpty } == [
        "the entry has no payload", "the entry has no token, tokens or channel",
        "the entry has more than one of token, tokens and channel",
        "priority must be a whole number",
        "expiry must be a whole number", "the id has more than 64 characters", "the id is empty",
        "tokens: expected an array, at byte 1", "the entry has no payload",
        "payload is not UTF-8", "the id is not UTF-8",
      ])
    #expect(try queue.depths(at: now)["shop"] == QueueDepth())
  }

  // MARK: Older relays

  /// A queue that a relay before 0.2.0 filled has other key names. If an old relay has run next to
  /// a new one, both names exist, and their values are merged.
  @Test(arguments: [false, true]) func aQueueWithOldKeysKeepsEverything(_ hasBoth: Bool) throws {
    let queue = try place.open()
    try add("id", "a", "token", "00", "payload", "{}")
    let workerID = try queue.join()
    func deferOnce(at time: Int64, by workerID: WorkerID) throws {
      let got = try queue.claim(workerID, room: 9, at: time)
      try queue.record(
        got.map {
          EntryUpdate($0, [], .deferred(at: time, isRequested: true, line: "429 at \(time)"))
        },
        by: workerID, at: time)
    }
    try deferOnce(at: now, by: workerID)
    try queue.recordBadTokens([GoneToken(token: "0a", since: 5)], app: "shop", at: now)
    try queue.setAppState("guard.accepted", "1", app: "shop")
    for (old, new) in RedisQueue.renamedKeys {
      try server.ask("RENAME", "apns:{shop}:\(new)", "apns:{shop}:\(old)")
    }
    if hasBoth {
      // A counter that is behind the old one, and the other keys once more.
      try server.ask("SET", "apns:{shop}:worker_ids", "1")
      try deferOnce(at: now + 1, by: workerID)
      try queue.recordBadTokens([GoneToken(token: "0b", since: 5)], app: "shop", at: now)
      try queue.setAppState("guard.alarm", "too many", app: "shop")
    }

    let next = try place.open()
    let worker = try next.join()
    #expect(worker.number > workerID.number)
    let got = try next.claim(worker, room: 9, at: now + 1)
    #expect(got.map(\.deferrals) == [hasBoth ? 2 : 1])
    try next.record(
      got.map {
        EntryUpdate(
          $0, [PushOutcome(position: 0, token: "00", kind: .dead)], .dead(line: "enough"))
      }, by: worker, at: now)
    let lines = try place.history(of: "a").split(separator: "\n")
    #expect(lines.count == (hasBoth ? 3 : 2), "\(lines)")
    #expect(lines.first?.hasSuffix("429 at \(now)") == true)
    #expect(
      try next.badTokens(app: "shop", after: 0, most: 9).map(\.token)
        == (hasBoth ? ["0a", "0b"] : ["0a"]))
    #expect(try next.appState("guard.accepted", app: "shop") == "1")
    #expect(try next.appState("guard.alarm", app: "shop") == (hasBoth ? "too many" : nil))
    for (old, _) in RedisQueue.renamedKeys {
      #expect(try server.ask("EXISTS", "apns:{shop}:\(old)").number == 0)
    }
  }

  // MARK: Outages

  /// It was sent before its connection was lost.
  @Test func aClaimThatComesLateIsVoid() throws {
    let queue = try #require(try place.open() as? RedisQueue)
    try add("id", "a", "token", "00", "payload", "{}")
    let workerID = try queue.join()
    func held(after script: RedisScript, _ words: String...) throws -> Int? {
      _ = try queue.run(script, app: "shop") { command in
        for word in ["\(workerID.number)"] + words { command.add(word) }
      }
      return try queue.depths(at: now)["shop"]?.claimed
    }
    func claim(_ number: String) throws -> Int? {
      try held(after: .claim, "\(now)", "9", "0", "1", "normal", number)
    }
    #expect(try held(after: .reconcile, "5") == 0)
    #expect(try claim("5") == 0)
    #expect(try claim("6") == 1)
    #expect(try held(after: .reconcile, "5") == 1)
    #expect(try held(after: .reconcile, "7") == 0)
    try queue.leave(workerID, line: "left", at: now)
    #expect(try server.ask("HLEN", "apns:{shop}:workers").number == 0)
  }

  /// Any program may write there, and the relay adds to these numbers and multiplies them.
  @Test func numbersThatCannotBeStopNobody() throws {
    let queue = try place.open()
    let score = Double(now) * 1000
    for name in ["bad_tokens", "feedback", "gone"] {
      for (number, token) in [
        ("inf", "aa"), ("-inf", "ab"), ("1e300", "ac"), ("-9223372036854775808", "ad"),
        ("\(score)", "ae"),
      ] {
        _ = try server.ask("ZADD", "apns:{shop}:\(name)", number, token)
      }
    }
    let refused = try queue.badTokens(app: "shop", after: 0, most: 100)
    #expect(refused.map(\.token) == ["ae"])
    #expect(try queue.feedback(app: "shop", most: 100).map(\.token) == ["ae"])
    try add("id", "a", "token", "00", "payload", "{}")
    let stored = try server.ask("XRANGE", "apns:{shop}:in", "-", "+").list.first?.list.first?.text
    for (answers, most) in [("9223372036854775807", 1 << 31), ("-9223372036854775808", 0)] {
      _ = try server.ask("HSET", "apns:{shop}:deferrals", try #require(stored), answers)
      let (workerID, got) = try queue.claimed()
      #expect(got.map(\.deferrals) == [most])
      let held = HeldEntry(try #require(got.first))
      _ = DeliveryRules(deliveries: 5, tries: 5, delivery: .atLeastOnce).refuses(held, now: now)
      try queue.leave(workerID, line: "", at: now)
    }
    _ = try server.ask("HSET", "apns:jwt:{t:k}", "token", "x", "made", "9223372036854775807")
    let made = try queue.providerToken(
      team: "t", key: "k", madeAfter: 0, at: now, within: 1000
    ) { SharedToken(text: "new", made: now) }
    #expect(made.text == "new")
  }

  @Test func nothingIsLostWhenRedisIsKilled() throws {
    let queue = try place.open()
    let ids = (1...300).map { "id-\($0)" }
    _ = try queue.enqueue(ids.map { NewEntry($0) }, at: now)
    let workerID = try queue.join()
    let first = try queue.claim(workerID, room: 100, at: now)
    try queue.record(Array(first.prefix(40)).accepted, by: workerID, at: now)
    server.kill()
    let held = Array(first.dropFirst(40)).accepted
    let fault = try #require(throws: RelayFault.self) {
      try queue.record(held, by: workerID, at: now)
    }
    #expect("\(fault)".contains(server.socket))
    #expect(throws: (any Error).self) { try queue.check() }
    try server.start()
    try waitUntilItAnswers(queue)
    #expect(try queue.renew(workerID, at: now))
    try queue.record(held, by: workerID, at: now)
    while true {
      let got = try queue.claim(workerID, room: 100, at: now)
      if got.isEmpty { break }
      #expect(got.map(\.deliveries) == got.map { _ in 1 })
      try queue.record(got.accepted, by: workerID, at: now)
    }
    #expect(try place.ends().sorted() == ids.map { "\($0)/0 accepted" }.sorted())
    #expect(try queue.enqueue(ids.map { NewEntry($0) }, at: now) == 0)
  }

  /// Waits for the reconnect backoff after a failure.
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

  @Test func whoCouldNotBeHeardIsNotSilent() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a")], at: now)
    #expect(try queue.claim(queue.join(), room: 9, at: now).count == 1)
    server.kill()
    #expect(throws: (any Error).self) { try queue.check() }
    try server.start()
    try waitUntilItAnswers(queue)
    // The lease is 100 s, and Redis was unreachable for 200 s.
    #expect(try queue.reclaim(silentSince: now + 100_000, at: now + 200_000) == 0)
    #expect(try queue.reclaim(silentSince: now + 199_999, at: now + 299_999) == 0)
    #expect(try queue.reclaim(silentSince: now + 200_001, at: now + 300_001) == 1)
  }

  @Test func whatALostAnswerGaveComesAgainAtOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a"), NewEntry("b"), NewEntry("c")], at: now)
    let workerID = try queue.join()
    let own = try queue.claim(workerID, room: 1, at: now)
    #expect(own.ids == ["a"])
    // Another connection gets the reply to this claim; to the worker it is lost.
    #expect(try place.open().claim(workerID, room: 1, at: now).ids == ["b"])
    try server.ask("CLIENT", "KILL", "TYPE", "normal")
    #expect(throws: (any Error).self) { try queue.claim(workerID, room: 9, at: now) }
    let again = try queue.claim(workerID, room: 9, at: now)
    #expect(again.ids == ["b", "c"])
    #expect(again.map(\.deliveries) == [1, 1])
  }

  @Test func aBatchThatIsRecordedTwiceCountsOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a"), NewEntry("b"), NewEntry("c")], at: now)
    let (workerID, got) = try queue.claimed()
    let batch =
      [got[0]].accepted + [
        EntryUpdate(got[1], [], .deferred(at: now + 5, isRequested: true, line: "429")),
        EntryUpdate(got[2], [], .released(at: nil)),
      ]
    try queue.record(batch, by: workerID, at: now)
    try queue.record(batch, by: workerID, at: now)
    let again = try queue.claim(workerID, room: 9, at: now + 5)
    #expect(again.ids.sorted() == ["b", "c"])
    #expect(again.first { $0.content.id == "b" }?.deferrals == 1)
    // An outcome of an earlier delivery does not affect this one.
    try queue.record([batch[1]], by: workerID, at: now + 5)
    #expect(try queue.depths(at: now)["shop"]?.claimed == 2)
    #expect(try place.ends() == ["a/0 accepted"])
  }

  @Test func nothingIsRecordedOfABatchThatFails() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a")], at: now)
    let (workerID, got) = try queue.claimed()
    try server.ask("SET", "apns:{shop}:gone", "of another type")
    #expect(fault { try queue.record(got.accepted, by: workerID, at: now) }.contains("WRONGTYPE"))
    #expect(try place.ends() == [])
    try server.ask("DEL", "apns:{shop}:gone")
    try queue.record(got.accepted, by: workerID, at: now)
    #expect(try place.ends() == ["a/0 accepted"])
  }

  @Test func aRedisThatForgotEverythingIsUsedAnew() throws {
    let queue = try place.open()
    let workerID = try queue.join()
    try server.ask("SCRIPT", "FLUSH")
    #expect(try queue.renew(workerID, at: now))
    try server.ask("FLUSHALL")
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
    #expect(try !queue.renew(workerID, at: now))
    let next = try queue.join(app: "shop", named: "next", at: now + 1)
    // Another worker's ID, so that neither keeps the other's entries.
    #expect(try !queue.knows(workerID) && queue.knows(next))
    _ = try queue.enqueue([NewEntry("a")], at: now)
    #expect(try queue.claim(next, room: 9, at: now).count == 1)
  }

  @Test func aWrongPasswordIsSaid() throws {
    try server.ask("ACL", "SETUSER", "relay", "on", ">right", "~apns:*", "+@all")
    func address(_ user: String?, _ password: String) throws -> RedisAddress {
      var address = try server.address
      address.user = user
      address.password = password
      return address
    }
    #expect(throws: Never.self) { try RedisQueue(address("relay", "right")).check() }
    do {
      let said = fault { try RedisQueue(address("relay", "hunter2")) }
      #expect(said.contains("authentication failed: WRONGPASS"))
      #expect(said.contains(self.server.socket))
      #expect(!said.contains("hunter2"))
    }
    try server.ask("CONFIG", "SET", "requirepass", "right")
    #expect(fault { try RedisQueue(server.address) }.contains("NOAUTH"))
  }

  @Test func aRedisThatIsNotThereIsNamed() throws {
    // Bound but not listening, so that no other program takes the port.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        #expect(bind(descriptor, $0, length) == 0)
        #expect(getsockname(descriptor, $0, &length) == 0)
      }
    }
    let port = UInt16(bigEndian: place.sin_port)
    #expect(
      fault { try RedisQueue(RedisAddress("redis://127.0.0.1:\(port)")) }
        == "redis://127.0.0.1:\(port): no connection: Connection refused")
  }

  @Test func aRedisThatKeepsNothingIsWarnedOf() throws {
    #expect(try RedisQueue(server.address).warnings == [])
    try server.ask("CONFIG", "SET", "appendonly", "no")
    try server.ask("CONFIG", "SET", "maxmemory", "100mb")
    try server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    let said = try RedisQueue(server.address).warnings
    #expect(said.count == 2)
    #expect(said[0].contains("appendonly is off"), "\(said[0])")
    #expect(said[1].contains("noeviction"), "\(said[1])")
  }
}
