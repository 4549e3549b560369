import Foundation
import Testing

@testable import Relay

/// The rules of dead letters and outcomes, for each engine.
extension QueueRules {
  /// Claims everything, and gives the outcomes to the entry that has them; the others are released.
  private func die(
    _ queue: any QueueEngine, _ outcomes: [String: [PushOutcome]], at time: Int64
  ) throws {
    let workerID = try queue.join()
    let updates = try queue.claim(workerID, room: 9999, at: time).compactMap { entry in
      outcomes[entry.content.id].map { ends in
        let isDead = ends.contains { $0.kind == .dead }
        return EntryUpdate(entry, ends, isDead ? .dead(line: "enough") : .finished)
      }
    }
    #expect(updates.count == outcomes.count)
    try queue.record(updates, by: workerID, at: time)
    try queue.leave(workerID, line: "done", at: time)
  }

  private func letters(_ queue: any QueueReading, _ ids: Set<String> = []) throws -> [DeadLetter] {
    try queue.deadLetters(app: "shop", ids: ids, after: "0", most: 999)
  }

  private func retry(_ queue: any QueueEngine, _ ids: Set<String> = []) throws -> [Int] {
    let letters = try letters(queue, ids)
    let done = try queue.retry(letters, app: "shop", at: now)
    return letters.compactMap { done[$0.number] }
  }

  /// Each outcome has its entry's trace, also that of a dead letter that was given back.
  @Test(arguments: Engine.here) func outcomesHaveTheTraceOfTheirEntry(_ engine: Engine) throws {
    let queue = try open(engine)
    var traced = many("traced", 2)
    traced.traceparent = TraceParentTests.valid
    _ = try queue.enqueue([traced, entry("plain")], at: now)
    func traces() throws -> [String: String?] {
      let rows = try queue.outcomes(OutcomeFilter(), app: "shop", after: "0").rows
      return Dictionary(
        uniqueKeysWithValues: rows.map { ("\($0.id)/\($0.outcome.position)", $0.traceparent) })
    }
    try die(
      queue, ["traced": [outcome(0), outcome(1, .dead)], "plain": [outcome(0, .dead)]], at: now)
    let trace = TraceParentTests.valid
    #expect(try traces() == ["traced/0": trace, "traced/1": trace, "plain/0": nil])
    #expect(try retry(queue) == [1, 1])
    try die(queue, ["traced": [outcome(1)], "plain": [outcome()]], at: now + 1)
    #expect(try traces() == ["traced/0": trace, "traced/1": trace, "plain/0": nil])
    traced.traceparent = "00-0"
    #expect(
      fault { try queue.enqueue([traced], at: now) } == "traced: traceparent \(TraceParent.fault)")
  }

  @Test(arguments: Engine.here) func aDeadLetterComesBack(_ engine: Engine) throws {
    let queue = try open(engine)
    var wanted = entry("a")
    (wanted.lane, wanted.deadline, wanted.topic) = (.urgent, 2_000_000_000, "com.example.shop")
    wanted.campaign = "sale"
    func counted(_ kind: PushOutcome.Kind) throws -> Int {
      try queue.campaignOutcomes(app: "shop")["sale"]?.counts[kind] ?? 0
    }
    _ = try queue.enqueue([wanted, entry("b")], at: now)
    try die(queue, ["a": [outcome(0, .dead)], "b": [outcome(0, .dead)]], at: now)
    let before = try letters(queue)
    #expect(before.map(\.id) == ["b", "a"] || before.map(\.id) == ["a", "b"])
    let letter = try #require(before.first { $0.id == "a" })
    #expect(letter.lane == .urgent)
    #expect(letter.devices == 1)
    #expect(letter.deliveries == 1)
    #expect(letter.at == now)
    #expect(letter.history.hasSuffix("enough"))
    #expect(try letters(queue, ["a"]) == [letter])
    #expect(try counted(.dead) == 1)

    #expect(try retry(queue, ["a"]) == [1])
    #expect(try place.ends() == ["b/0 dead"])
    #expect(try counted(.dead) == 0)
    #expect(try queue.depths(at: now)["shop"]?.dead == 1)
    #expect(try queue.depths(at: now)["shop"]?.waiting[.urgent]?.count == 1)
    // The entry in the queue has its ID, and its dead letter is removed.
    #expect(try queue.retry([letter], app: "shop", at: now) == [:])
    #expect(try retry(queue, ["a"]) == [])
    #expect(try queue.enqueue([entry("a")], at: now) == 0)

    let (workerID, got) = try queue.claimed()
    #expect(got.map(\.content) == [wanted])
    #expect(got.map(\.deliveries) == [1])
    #expect(got.map(\.deferrals) == [0])
    try queue.record(got[0], [outcome(0, .dead)], .dead(line: "again"), by: workerID, at: now)
    let lines = try place.history(of: "a").split(separator: "\n").map(String.init)
    #expect(lines.count == 3, "\(lines)")
    #expect(lines.dropFirst().first?.hasSuffix("given back by the operator") == true, "\(lines)")
    #expect(try retry(queue, ["a"]) == [1])
    let last = try queue.claim(workerID, room: 9, at: now)
    try queue.record(last[0], [outcome()], .finished, by: workerID, at: now)
    #expect(try place.ends().sorted() == ["a/0 accepted", "b/0 dead"])
    #expect(try [counted(.dead), counted(.accepted)] == [0, 1])
    #expect(try retry(queue, ["a"]) == [])
  }

  /// A device that has another outcome is not pushed to again.
  @Test(arguments: Engine.here) func onlyDeadDevicesArePushedAgain(_ engine: Engine) throws {
    let queue = try open(engine, [many("m", 70), entry("fine"), entry("other")])
    let first = try queue.join()
    var got = try queue.claim(first, room: 999, at: now)
    try queue.record(got[0], [outcome(3)], .held, by: first, at: now)
    try queue.leave(first, line: "gone", at: now)
    try die(
      queue,
      [
        "m": (0..<70).filter { $0 != 3 }.map {
          outcome($0, $0 == 5 ? .accepted : $0 == 69 ? .rejected : .dead)
        },
        "fine": [outcome()], "other": [outcome(0, .dead)],
      ], at: now)
    #expect(try letters(queue, ["m"]).map(\.devices) == [67])
    #expect(try retry(queue, ["m"]) == [67])
    #expect(
      try place.ends().sorted() == [
        "fine/0 accepted", "m/3 accepted", "m/5 accepted", "m/69 rejected", "other/0 dead",
      ])
    let workerID = try queue.join()
    got = try queue.claim(workerID, room: 999, at: now)
    #expect(got.ids == ["m"])
    #expect(got.first?.resolved == [3, 5, 69])
    try queue.record(
      [
        EntryUpdate(
          got[0], (0..<70).filter { ![3, 5, 69].contains($0) }.map { outcome($0) }, .finished)
      ], by: workerID, at: now)
    #expect(try place.ends().count == 72)
    #expect(try place.ends().count { $0.hasSuffix("accepted") } == 70)
    #expect(try queue.enqueue([many("m", 70)], at: now) == 0)
  }

  @Test(arguments: Engine.here) func aDiscardedLetterKeepsItsOutcomes(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a"), entry("b")])
    try die(queue, ["a": [outcome(0, .dead)], "b": [outcome(0, .dead)]], at: now)
    let found = try letters(queue, ["a"])
    #expect(try queue.discard(found, app: "other") == 0)
    #expect(try queue.discard(found, app: "shop") == 1)
    #expect(try queue.discard(found, app: "shop") == 0)
    #expect(try queue.retry(found, app: "shop", at: now) == [:])
    #expect(try queue.depths(at: now)["shop"]?.dead == 1)
    #expect(try place.ends().sorted() == ["a/0 dead", "b/0 dead"])
    #expect(try queue.enqueue([entry("a")], at: now) == 0)
    // Its outcome is trimmed like any other from now on, and that of a dead letter is not.
    #expect(try queue.trim(before: now + 1) == 1)
    #expect(try place.ends() == ["b/0 dead"])
    #expect(try queue.enqueue([entry("a"), entry("b")], at: now) == 1)
    #expect(try retry(queue, ["b"]) == [1])
  }

  @Test(arguments: Engine.here) func deadLettersEndAfterTheirTime(_ engine: Engine) throws {
    let queue = try open(engine)
    for (id, time) in [("a", now), ("b", now + 1000)] {
      _ = try queue.enqueue([entry(id)], at: now)
      try die(queue, [id: [outcome(0, .dead)]], at: time)
    }
    #expect(try queue.trimDeadLetters(before: now) == 0)
    #expect(try queue.trimDeadLetters(before: now + 500) == 1)
    #expect(try letters(queue).map(\.id) == ["b"])
    #expect(try queue.trimDeadLetters(before: now + 500) == 0)
    #expect(try queue.trim(before: now + 5000) == 1)
  }

  /// A later entry may have the ID of a letter whose outcomes were removed.
  @Test(arguments: [Engine.sqlite, .redis].filter { Engine.here.contains($0) })
  func aLaterEntryKeepsItsID(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    try die(queue, ["a": [outcome(0, .dead)]], at: now)
    let old = try letters(queue)
    try forget("a")
    #expect(try letters(queue).map(\.devices) == [0])
    #expect(try queue.retry(old, app: "shop", at: now) == [:])
    #expect(try queue.enqueue([entry("a")], at: now) == 1)
    #expect(try queue.retry(old, app: "shop", at: now) == [:])
    try die(queue, ["a": [outcome(0, .dead)]], at: now + 1000)
    #expect(try letters(queue).map(\.devices) == [0, 1])
    #expect(try queue.retry(old, app: "shop", at: now) == [:])
    #expect(try retry(queue) == [1])
    #expect(try letters(queue).map(\.number) == old.map(\.number))
  }

  /// A relay that hung records what it got long ago, when the entry has another number.
  @Test(arguments: Engine.here) func aLateOutcomeCountsOnce(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let workerID = try queue.join()
    let old = try #require(try queue.claim(workerID, room: 9, at: now).first)
    let dead = EntryUpdate(old, [outcome(0, .dead)], .dead(line: "died"))
    try queue.record([dead], by: workerID, at: now)
    #expect(try retry(queue) == [1])
    let new = try queue.claim(workerID, room: 9, at: now)
    #expect(new.count == 1)
    try queue.record(old, [outcome(0, .accepted)], .finished, by: workerID, at: now)
    try queue.record(
      new.map { EntryUpdate($0, [outcome(0, .rejected)], .finished) }, by: workerID, at: now)
    #expect(try place.ends().count == 1)
    #expect(try queue.enqueue([entry("a")], at: now) == 0)
  }

  /// Removes the outcomes of an ID, as relays before 0.2.0 did in time.
  private func forget(_ id: String) throws {
    if let sqlite = place as? SQLitePlace {
      try sqlite.write("DELETE FROM outcomes WHERE id = '\(id)'")
    } else if let redis = place as? RedisPlace {
      _ = try redis.server.ask("HDEL", "apns:{shop}:ids", id)
      _ = try redis.server.ask("DEL", "apns:{shop}:out")
    }
  }

  /// Relays before 0.2.0 let entries share the records of outcomes, and noted nothing for a retry.
  @Test(arguments: [Engine.redis].filter { Engine.here.contains($0) })
  func aDeadLetterOfAnOlderRelayComesBack(_ engine: Engine) throws {
    let queue = try open(engine)
    let server = try #require(place as? RedisPlace).server
    let outcomes = """
      [{"id":"m","deliveries":5,"outcome":"dead","reason":"","http_status":503,"devices":[["01",1,""],["02",2,""]]},
      {"id":"x","deliveries":1,"outcome":"accepted","reason":"","http_status":200,"devices":[["09",0,"i"]]}]
      """
    let record = try server.ask(
      "XADD", "apns:{shop}:out", "*", "at", "\(now)", "outcomes", outcomes)
    _ = try server.ask("HSET", "apns:{shop}:ids", "m", ".|\(record.text ?? "")|")
    _ = try server.ask(
      "XADD", "apns:{shop}:dead", "*", "id", "m", "tokens", "[\"00\",\"01\",\"02\"]", "payload",
      "{}", "lane", "bulk", "entry", "b1-0", "deliveries", "5", "history", "long ago", "at",
      "\(now)")
    #expect(try retry(queue) == [2])
    let got = try queue.claim(queue.join(), room: 9, at: now)
    #expect(got.map(\.content.tokens) == ["[\"00\",\"01\",\"02\"]"])
    #expect(got.map(\.content.lane) == [.bulk])
    #expect(got.map(\.resolved) == [[0]])
    #expect(got.map(\.fault) == [nil])
    #expect(try place.ends().contains("x/0 accepted"))
  }

  @Test(arguments: Engine.here) func goneDevicesAreKeptByWhenTheyWereRecorded(_ engine: Engine)
    throws
  {
    let queue = try open(engine, ["a", "b", "c"].map { entry($0) })
    let workerID = try queue.join()
    // APNs says that each went long ago. The last one is recorded twice.
    for (index, entry) in try queue.claim(workerID, room: 9, at: now).enumerated() {
      var gone = PushOutcome(
        position: 0, token: index == 1 ? "0b" : "0a", kind: .rejected, reason: "Unregistered")
      (gone.httpStatus, gone.goneSince) = (410, 1)
      try queue.record(entry, [gone], .finished, by: workerID, at: now + 1000 * Int64(index))
    }
    #expect(try place.gone() == ["0a", "0b"])
    #expect(try queue.trimGone(before: now + 1000, at: now + 5000) == 0)
    #expect(try queue.trimGone(before: now + 1500, at: now + 5000) == 1)
    #expect(try place.gone() == ["0a"])
    #expect(try queue.trimGone(before: now + 2001, at: now + 5000) == 1)
    #expect(try place.gone() == [])
  }

  /// Devices that an older relay recorded have no time.
  @Test(arguments: [Engine.sqlite, .redis].filter { Engine.here.contains($0) })
  func goneDevicesOfAnOlderRelayCountFromNowOn(_ engine: Engine) throws {
    let queue = try open(engine)
    _ = try queue.join(app: "shop", named: "test", at: now)
    if let sqlite = place as? SQLitePlace {
      try sqlite.write("INSERT INTO gone (app, token, since) VALUES ('shop', '0a', 1)")
    } else if let redis = place as? RedisPlace {
      _ = try redis.server.ask("ZADD", "apns:{shop}:gone", "1", "0a")
    }
    #expect(try queue.trimGone(before: now, at: now) == 0)
    #expect(try queue.trimGone(before: now + 1, at: now + 9) == 1)
    #expect(try place.gone() == [])
  }

  @Test(arguments: Engine.here) func outcomesAreReadInTheirOrderAndOnce(_ engine: Engine) throws {
    let queue = try open(engine)
    func read(_ filter: OutcomeFilter, from start: String = "0") throws -> ([OutcomeRow], String) {
      var (rows, last) = ([OutcomeRow](), start)
      while true {
        let page = try queue.outcomes(filter, app: "shop", after: last)
        (rows, last) = (rows + page.rows, page.last)
        if page.isEnd { return (rows, last) }
      }
    }
    func record(_ ids: [String]) throws {
      _ = try queue.enqueue(ids.map { entry($0) }, at: now)
      let workerID = try queue.join()
      for (index, entry) in try queue.claim(workerID, room: 999, at: now).enumerated() {
        var end = outcome(0, index % 10 == 0 ? .rejected : .accepted)
        end.httpStatus = index % 20 == 0 ? 410 : end.kind == .accepted ? 200 : 400
        end.apnsID = "the-id"
        try queue.record(entry, [end], .finished, by: workerID, at: now + 7)
      }
      try queue.leave(workerID, line: "done", at: now)
    }
    let all = OutcomeFilter()
    #expect(try read(all).0 == [])
    let ids = (0..<100).map { "id-\($0)" }
    try record(ids)
    let (rows, last) = try read(all)
    #expect(rows.map(\.id) == ids)
    #expect(rows[1].outcome.apnsID == "the-id")
    #expect(rows[1].outcome.httpStatus == 200)
    #expect(rows[1].deliveries == 1)
    #expect(rows[1].at == now + 7)
    #expect(try read(all, from: rows[59].number).0.map(\.id) == Array(ids[60...]))
    var filter = all
    filter.ids = ["id-7", "id-95", "none"]
    #expect(try read(filter).0.map(\.id) == ["id-7", "id-95"])
    filter = all
    filter.kinds = [.rejected, .dead]
    #expect(try read(filter).0.count == 10)
    (filter.kinds, filter.wantsGone) = ([], true)
    #expect(try read(filter).0.map(\.id) == ["id-0", "id-20", "id-40", "id-60", "id-80"])
    #expect(try queue.outcomes(all, app: "other", after: "0").rows == [])
    // A reader that waits gets what comes, also after a trim.
    #expect(try read(all, from: last).0 == [])
    #expect(try queue.trim(before: now + 100) == 100)
    try record(["later"])
    #expect(try read(all, from: last).0.map(\.id) == ["later"])
  }
}
