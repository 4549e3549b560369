import Foundation
import Synchronization
import Testing

@testable import Relay

/// The rules of a queue, for each engine. Serialized, because the cluster tests share servers.
@Suite(.serialized, .endsTheCluster) final class QueueRules {
  static let now: Int64 = 1_800_000_000_000

  let now = QueueRules.now
  var place: (any QueuePlace)!

  /// Opens the queue of this test, as another process would.
  func open(_ engine: Engine) throws -> any QueueEngine {
    if place == nil { place = try engine.place() }
    return try place.open()
  }

  /// Opens it with these entries.
  func open(_ engine: Engine, _ entries: [NewEntry]) throws -> any QueueEngine {
    let queue = try open(engine)
    _ = try queue.enqueue(entries, at: now)
    return queue
  }

  /// Also claims them.
  func claimed(
    _ engine: Engine, _ entries: [NewEntry], room: Int = 9
  ) throws -> (queue: any QueueEngine, workerID: WorkerID, entries: [Entry]) {
    let queue = try open(engine, entries)
    let (workerID, got) = try queue.claimed(room: room)
    return (queue, workerID, got)
  }

  func entry(_ id: String, app: String = "shop") -> NewEntry {
    NewEntry(app: app, id: id, token: "5f79cfda", payload: "{\"aps\":{}}")
  }

  func many(_ id: String, _ count: Int) -> NewEntry {
    let tokens = (0..<count).map { "\"\(String(format: "%064x", $0))\"" }.joined(separator: ",")
    return NewEntry(app: "shop", id: id, tokens: "[\(tokens)]", payload: "{\"aps\":{}}")
  }

  func outcome(_ position: Int = 0, _ kind: PushOutcome.Kind = .accepted) -> PushOutcome {
    var outcome = PushOutcome(position: position, token: "5f79cfda", kind: kind)
    if kind == .accepted { outcome.httpStatus = 200 }
    return outcome
  }

  @Test(arguments: Engine.here) func entriesComeInOrderAndOnce(_ engine: Engine) throws {
    let queue = try open(engine)
    let ids = (1...20).map { "id-\($0)" }
    #expect(try queue.enqueue(ids.map { entry($0) }, at: now) == 20)
    let (one, other) = (try queue.join(), try queue.join())
    #expect(try queue.claim(one, room: 7, at: now).ids == Array(ids.prefix(7)))
    #expect(try queue.claim(other, room: 100, at: now).ids == Array(ids.dropFirst(7)))
    #expect(try queue.claim(one, room: 7, at: now) == [])
  }

  /// One entry of 300 kills its worker each time; the others next to it are not to blame.
  @Test(arguments: Engine.here) func onlyWhoWasAloneIsToBlameForACrash(_ engine: Engine) throws {
    let queue = try open(engine)
    let rules = DeliveryRules(deliveries: 5, tries: 5, delivery: .atLeastOnce)
    _ = try queue.enqueue((0..<300).map { entry("id-\($0)") }, at: now)
    var (crashes, time, ends) = (0, now, [String: PushOutcome.Kind]())
    while ends.count < 300 {
      let workerID = try queue.join()
      var got = try queue.claim(workerID, room: 2000, at: time)
      try #require(!got.isEmpty)
      // Suspects and other entries are never claimed together, nor while a worker holds entries of
      // the other kind.
      let isApart = got.contains { $0.crashes >= CrashGroup.apart }
      if isApart { #expect(got.allSatisfy { $0.crashes >= CrashGroup.apart }) }
      while true {
        let held = got.map { HeldEntry($0) }
        for one in held {
          if rules.refuses(one, now: now) { continue }
          if one.entry.content.id == "id-77" { break }
          one.end(at: 0, outcome())
          one.disposition = .finished
        }
        let done = held.filter { $0.disposition != nil }
        // The others' responses were still pending when the worker was killed.
        if held.contains(where: { $0.disposition == nil }) { break }
        for one in done { ends[one.entry.content.id] = one.fresh[0].kind }
        try queue.record(done.map { EntryUpdate($0) }, by: workerID, at: now)
        got = try queue.claim(workerID, room: 2000, inOrder: false, isFree: true, at: time)
        if got.isEmpty { break }
      }
      guard ends.count < 300 else { break }
      crashes += 1
      #expect(try queue.reclaim(silentSince: now + 1, at: time) > 0)
      // An entry that was alone several times is deferred.
      time += 10_000
    }
    #expect(ends["id-77"] == .dead)
    #expect(ends.values.count { $0 == .accepted } == 299)
    #expect(crashes <= 10)
  }

  /// A worker with entries does not get suspects until it can try them apart.
  @Test(arguments: Engine.here) func suspectsAreTriedApart(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a"), entry("b")])
    for _ in 0..<2 {
      #expect(try queue.claim(queue.join(), room: 9, at: now).count == 2)
      #expect(try queue.reclaim(silentSince: now + 1, at: now) == 2)
    }
    _ = try queue.enqueue([entry("c")], at: now)
    let workerID = try queue.join()
    #expect(try queue.claim(workerID, room: 9, inOrder: false, isFree: false, at: now) == [])
    let got = try queue.claim(workerID, room: 9, inOrder: false, isFree: true, at: now)
    #expect(got.ids == ["a", "b"])
    #expect(got.map(\.crashes) == [2, 2])
    #expect(got.map(\.deliveries) == [3, 3])
    #expect(
      try queue.claim(queue.join(), room: 9, inOrder: false, isFree: false, at: now).ids == ["c"])
  }

  @Test(arguments: Engine.here) func whatAServiceInTroublePutOffComesBack(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [entry("guess"), entry("asked")])
    try queue.record(
      zip(got, [true, false]).map { entry, isGuess in
        EntryUpdate(
          entry, [],
          .deferred(
            at: ParkedTime.of(now + 900_000, isGuess: isGuess), isRequested: true, line: "503"))
      }, by: workerID, at: now)
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
    #expect(try !queue.isAnythingThere(app: "shop", at: now))
    #expect(try queue.bringBack(app: "shop", at: now) == 1)
    #expect(try queue.isAnythingThere(app: "shop", at: now))
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["guess"])
  }

  @Test(arguments: Engine.here) func anAppHasItsOwnEntries(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a", app: "other")])
    #expect(try queue.claim(queue.join(), room: 9, at: now) == [])
    #expect(try queue.depths(at: now)["other"]?.ready == 1)
  }

  @Test(arguments: Engine.here) func everythingInAnEntryArrives(_ engine: Engine) throws {
    let queue = try open(engine)
    var wanted = NewEntry(
      app: "shop", id: "é-1", tokens: "[\"00ff\"]", payload: "{\"aps\":{\"alert\":\"ü\"}}")
    wanted.topic = "com.example.shop"
    wanted.pushType = "background"
    wanted.priority = 5
    wanted.expiry = 0
    wanted.collapseID = "c"
    wanted.deadline = 2_000_000_000
    wanted.lane = .bulk
    wanted.campaign = "sale é"
    wanted.traceparent = TraceParentTests.valid
    _ = try queue.enqueue([wanted], at: now)
    let got = try queue.claim(queue.join(), room: 9, at: now)
    #expect(got.map(\.content) == [wanted])
    #expect(got.map(\.deliveries) == [1])
    let broadcast = NewEntry(app: "shop", id: "b", channel: "AQID", payload: "{}")
    let device = NewEntry(app: "shop", id: "d", token: "00ff", payload: "{}")
    _ = try queue.enqueue([broadcast, device], at: now)
    #expect(try queue.claim(queue.join(), room: 9, at: now).map(\.content) == [broadcast, device])
  }

  @Test(arguments: Engine.here) func anIDIsTakenOnceWhileItWaitsIsHeldAndIsDone(_ engine: Engine)
    throws
  {
    let queue = try open(engine)
    #expect(try queue.enqueue([entry("a"), entry("a")], at: now) == 1)
    let (workerID, got) = try queue.claimed()
    #expect(try queue.enqueue([entry("a")], at: now) == 0)
    try queue.record(got[0], [outcome()], .finished, by: workerID, at: now)
    #expect(try queue.enqueue([entry("a"), entry("b")], at: now) == 1)
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["b"])
  }

  /// Many entries share a transaction, and each keeps its own result: known ones, repeated ones,
  /// and those with other columns, wherever they stand among the others.
  @Test(arguments: Engine.here) func manyAtOnceAreEachTakenForItself(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    let old = ["id-2", "id-40", "id-41", "id-199"]
    #expect(try queue.enqueue(old.map { entry($0) }, at: now) == 4)
    for one in try queue.claim(workerID, room: 2, at: now) {
      try queue.record(one, [outcome()], .finished, by: workerID, at: now)
    }
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["id-41", "id-199"])
    var all = (1...200).map { entry("id-\($0)") }
    all[99].topic = "com.example.shop.voip"
    all[130] = many("id-131", 2)
    all[50].priority = 5
    all[51].expiry = 0
    all[149].payload = "{\"aps\":{\"alert\":\"ü\"}}"
    all.append(contentsOf: [entry("id-7"), entry("id-200")])
    #expect(try queue.enqueue(all, at: now) == 196)
    let wanted = all.prefix(200).filter { !old.contains($0.id) }
    #expect(try queue.claim(workerID, room: 1000, at: now).map(\.content) == Array(wanted))
    #expect(try queue.enqueue(all, at: now) == 0)
  }

  @Test(arguments: Engine.here) func whatIsKnownOfAnID(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a"), entry("b"), entry("c"), many("d", 2)])
    let channel = NewEntry(app: "shop", id: "e", channel: "AQID", payload: "{}")
    _ = try queue.enqueue([channel], at: now)
    #expect(
      try queue.known(["a", "d", "e", "none"], app: "shop") == [
        "a": KnownEntry(target: "5f79cfda"), "d": KnownEntry(), "e": KnownEntry(target: "AQID"),
      ])
    #expect(try queue.known(["a"], app: "other") == [:])
    let (workerID, got) = try queue.claimed(room: 3)
    #expect(try queue.known(["a"], app: "shop")["a"]?.outcome == nil)
    var accepted = outcome()
    accepted.httpStatus = 200
    accepted.apnsID = "the-id"
    var gone = outcome(0, .rejected)
    gone.reason = "Unregistered"
    gone.httpStatus = 410
    gone.goneSince = 1_700_000_000
    try queue.record(
      [EntryUpdate(got[0], [accepted], .finished), EntryUpdate(got[1], [gone], .finished)],
      by: workerID,
      at: now)
    let known = try queue.known(["a", "b", "c"], app: "shop")
    #expect(known["a"]?.outcome == accepted)
    #expect(known["b"]?.outcome == gone)
    #expect(known["c"] == KnownEntry(target: "5f79cfda"))
  }

  /// A push with the ID of a token list does not get the outcome of one of its tokens.
  @Test(arguments: Engine.here) func anIDOfAListIsAnothers(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [many("d", 2)], room: 1)
    try queue.record(
      [
        EntryUpdate(
          got[0],
          [
            PushOutcome(position: 0, token: "00", kind: .accepted),
            PushOutcome(position: 1, token: "01", kind: .accepted),
          ], .finished)
      ], by: workerID, at: now)
    let waits = OutcomeWaits(queue)
    waits.start()
    defer { waits.end() }
    let told = DispatchSemaphore(value: 0)
    let isAnothers = Mutex(false)
    let number = waits.wait(app: "shop", id: "d", target: "01") { end in
      if case .isAnothers = end { isAnothers.withLock { $0 = true } }
      told.signal()
    }
    waits.queued(app: "shop", id: "d", number, isNew: false, forMS: 600_000)
    #expect(told.wait(timeout: .now() + 60) == .success)
    #expect(isAnothers.withLock { $0 })
  }

  @Test(arguments: Engine.here) func aBatchWithAMistakeAddsNothing(_ engine: Engine) throws {
    let queue = try open(engine)
    var both = entry("b")
    both.tokens = "[]"
    #expect(throws: (any Error).self) { try queue.enqueue([entry("a"), both], at: now) }
    var everything = entry("c")
    everything.channel = "AQID"
    #expect(throws: (any Error).self) { try queue.enqueue([entry("a"), everything], at: now) }
    #expect(throws: (any Error).self) {
      try queue.enqueue([entry("a"), NewEntry(app: "shop", id: "n", payload: "{}")], at: now)
    }
    #expect(throws: (any Error).self) {
      try queue.enqueue([entry("a"), entry(String(repeating: "x", count: 65))], at: now)
    }
    #expect(try queue.claim(queue.join(), room: 9, at: now) == [])
  }

  @Test(arguments: Engine.here) func whatIsNotRecordedIsNotAcknowledged(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let workerID = try queue.join()
    _ = try queue.claim(workerID, room: 9, at: now)
    try queue.leave(workerID, line: "gone", at: now)
    let other = try queue.join()
    let again = try queue.claim(other, room: 9, at: now)
    #expect(again.map(\.deliveries) == [2])
  }

  @Test(arguments: Engine.here) func onlyTheSilentLoseTheirEntries(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a"), entry("b")])
    let (silent, living) = (try queue.join(), try queue.join())
    #expect(try queue.claim(silent, room: 1, at: now).count == 1)
    #expect(try queue.claim(living, room: 1, at: now).count == 1)
    #expect(try queue.renew(living, at: now + 100_000))
    #expect(try queue.reclaim(silentSince: now - 1, at: now + 119_000) == 0)
    #expect(try queue.reclaim(silentSince: now + 1, at: now + 121_000) == 1)
    #expect(try queue.claim(living, room: 9, at: now + 121_000).ids == ["a"])
    #expect(try !queue.renew(silent, at: now + 130_000))
    // It must join again, because otherwise no worker would notice if it fell silent.
    _ = try queue.enqueue([entry("c")], at: now)
    #expect(try queue.claim(silent, room: 9, at: now + 130_000) == [])
    #expect(try queue.claim(living, room: 9, at: now + 130_000).ids == ["c"])
  }

  @Test(arguments: Engine.here) func manyLeasesAreRenewedAtOnce(_ engine: Engine) throws {
    let queue = try open(engine)
    let all = try (1...300).map { try queue.join(app: "app-\($0)", named: "a test", at: now) }
    let gone = Set([all[7], all[299]])
    for one in gone { try queue.leave(one, line: "gone", at: now) }
    #expect(try queue.renew(all, at: now + 100_000) == gone)
    #expect(try queue.renew([], at: now + 100_000).isEmpty)
    _ = try queue.reclaim(silentSince: now + 100_000, at: now + 100_000)
    #expect(try all.count { try queue.knows($0) } == 298)
  }

  @Test(arguments: Engine.here) func anEntryIsThereWhateverItWaitsFor(_ engine: Engine) throws {
    let dues: [String: Int64] = [
      "paused": PausedTime.due, "paced": PacedTime.of("sale"), "later": now + 86_400_000,
      "now": now,
    ]
    var bulk = entry("a", app: "paced")
    bulk.lane = .bulk
    let others = ["paused", "later", "now", "new"].map { entry("a", app: $0) }
    let queue = try open(engine, others + [bulk])
    for (app, due) in dues {
      let workerID = try queue.join(app: app, named: "a test", at: now)
      let got = try queue.claim(workerID, room: 1, at: now)
      try queue.record(got[0], [], .released(at: due), by: workerID, at: now)
      #expect(try queue.hasEntries(app: app), "\(app)")
    }
    #expect(try queue.hasEntries(app: "new"))
    let workerID = try queue.join(app: "new", named: "a test", at: now)
    let got = try queue.claim(workerID, room: 1, at: now)
    try queue.record(got[0], [outcome()], .finished, by: workerID, at: now)
    #expect(try !queue.hasEntries(app: "new"))
    #expect(try !queue.hasEntries(app: "nobody's"))
  }

  @Test(arguments: Engine.here) func theSecondOutcomeOfANotificationCountsForNothing(
    _ engine: Engine
  ) throws {
    let queue = try open(engine, [entry("a")])
    let (slow, quick) = (try queue.join(), try queue.join())
    let first = try queue.claim(slow, room: 9, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let next = try queue.join()
    let second = try queue.claim(next, room: 9, at: now)
    #expect(second.count == 1)
    _ = quick
    try queue.record(second[0], [outcome()], .finished, by: next, at: now)
    try queue.record(first[0], [outcome(0, .rejected)], .finished, by: slow, at: now)
    #expect(try place.ends() == ["a/0 accepted"])
    #expect(try queue.depths(at: now)["shop"]?.claimed ?? 0 == 0)
  }

  @Test(arguments: Engine.here) func oneWhoLostAnEntryDoesNotPutItOff(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let slow = try queue.join()
    let first = try queue.claim(slow, room: 9, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let next = try queue.join()
    #expect(try queue.claim(next, room: 9, at: now).count == 1)
    let history = EntryUpdate.Disposition.deferred(at: now + 5, isRequested: true, line: "429")
    try queue.record(first[0], [], history, by: slow, at: now)
    try queue.record(first[0], [], .dead(line: "x"), by: slow, at: now)
    try queue.record(first[0], [], .released(at: nil), by: slow, at: now)
    #expect(try queue.depths(at: now)["shop"]?.claimed == 1)
  }

  /// After its lease expired it may claim the same entry again.
  @Test(arguments: Engine.here) func anOldDeliveryDoesNotReturnTheNewOne(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let before = try queue.claim(queue.join(), room: 9, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let workerID = try queue.join()
    let again = try queue.claim(workerID, room: 9, at: now)
    for disposition: EntryUpdate.Disposition in [
      .deferred(at: now, isRequested: true, line: "429"), .dead(line: "x"), .released(at: nil),
    ] {
      try queue.record(before[0], [], disposition, by: workerID, at: now)
      #expect(try queue.depths(at: now)["shop"]?.claimed == 1)
    }
    try queue.record(again[0], [], .released(at: nil), by: workerID, at: now)
    #expect(try queue.depths(at: now)["shop"]?.claimed == 0)
  }

  /// The relay that holds it now may have sent it: outcomes by response count, and the entry stays.
  @Test(arguments: Engine.here) func ordersDecideOnlyWhatIsHeld(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a", of: "sale"), many("m", 3), many("kept", 2)])
    let slow = try queue.join()
    let old = try queue.claim(slow, room: 9, at: now).map { HeldEntry($0) }
    old[1].cursor = 1
    for held in old { held.cancel() }
    old[0].disposition = .finished
    old[2].disposition = .finished
    try queue.record([EntryUpdate(old[2])], by: slow, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    try queue.record([EntryUpdate(old[0]), EntryUpdate(old[1])], by: slow, at: now)
    #expect(try place.ends().sorted() == ["kept/0 cancelled", "kept/1 cancelled"])
    #expect(try counts(queue, "sale") == [:])
    let next = try queue.join()
    #expect(try queue.claim(next, room: 9, at: now).count == 2)
    // The response to its first device came later.
    old[1].fresh.removeAll()
    old[1].end(at: 0, outcome())
    old[1].disposition = .finished
    try queue.record([EntryUpdate(old[1])], by: slow, at: now)
    try queue.record([EntryUpdate(old[0]), EntryUpdate(old[1])], by: next, at: now)
    #expect(
      try place.ends().sorted() == ["kept/0 cancelled", "kept/1 cancelled", "m/0 accepted"])
    #expect(try queue.depths(at: now)["shop"]?.claimed == 2)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let last = try queue.claim(next, room: 9, at: now)
    #expect(last.isEmpty)
    let free = try queue.join()
    let again = try queue.claim(free, room: 9, at: now).map { HeldEntry($0) }
    #expect(again.map(\.unresolved) == [1, 2])
    for held in again {
      held.cancel()
      held.disposition = .finished
    }
    try queue.record(again.map { EntryUpdate($0) }, by: free, at: now)
    #expect(
      try place.ends().sorted() == [
        "a/0 unknown", "kept/0 cancelled", "kept/1 cancelled", "m/0 accepted", "m/1 unknown",
        "m/2 unknown",
      ])
    #expect(try counts(queue, "sale") == [.unknown: 1])
    #expect(try queue.depths(at: now)["shop"]?.claimed ?? 0 == 0)
  }

  @Test(arguments: Engine.here) func laterWaitsForItsTimeAndComesFirst(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [entry("a")])
    let later = EntryUpdate.Disposition.deferred(
      at: now + 60_000, isRequested: true, line: "TooManyRequests")
    try queue.record(got[0], [], later, by: workerID, at: now)
    _ = try queue.enqueue([entry("b")], at: now)
    #expect(try queue.depths(at: now)["shop"]?.deferred == 1)
    #expect(try queue.claim(workerID, room: 1, at: now + 59_999).ids == ["b"])
    let due = try queue.claim(workerID, room: 9, at: now + 60_000)
    #expect(due.ids == ["a"])
    #expect(due.map(\.deliveries) == [2])
    #expect(due.map(\.deferrals) == [1])
  }

  @Test(arguments: Engine.here) func whatWasNotSentIsNoDelivery(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let workerID = try queue.join()
    for _ in 1...9 {
      let got = try queue.claim(workerID, room: 9, at: now)
      #expect(got.map(\.deliveries) == [1])
      try queue.record(got[0], [], .released(at: nil), by: workerID, at: now)
    }
  }

  @Test(arguments: Engine.here) func aRejectedProviderCountsForNothing(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    let workerID = try queue.join()
    for minute in 0..<9 {
      let time = now + Int64(minute) * 60_000
      let got = try queue.claim(workerID, room: 9, at: time)
      #expect(got.map(\.deliveries) == [1] && got.map(\.deferrals) == [0])
      let update = EntryUpdate(got[0], [], .released(at: time + 60_000))
      try queue.record([update], by: workerID, at: time)
      #expect(try queue.claim(workerID, room: 9, at: time + 59_000).isEmpty)
    }
  }

  @Test(arguments: Engine.here) func ofManyTokensOnlyTheOpenOnesComeAgain(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [many("m", 5)])
    try queue.record(got[0], [outcome(1), outcome(3, .rejected)], .held, by: workerID, at: now)
    try queue.leave(workerID, line: "gone", at: now)
    let again = try queue.claim(queue.join(), room: 9, at: now)
    #expect(again.map(\.resolved) == [[1, 3]])
    #expect(try place.ends() == ["m/1 accepted", "m/3 rejected"])
  }

  /// Two workers have outcomes of one list, because the lease of one of them expired.
  @Test(arguments: Engine.here) func outcomesOfAListAreMergedWithThoseOfOthers(_ engine: Engine)
    throws
  {
    let queue = try open(engine, [many("m", 70), entry("a")])
    let (one, other) = (try queue.join(), try queue.join())
    let got = try queue.claim(one, room: 200, at: now)
    try queue.record(got[0], [outcome(0)], .held, by: one, at: now)
    #expect(try queue.renew(other, at: now + 2))
    #expect(try queue.reclaim(silentSince: now + 1, at: now) == 2)
    let again = try queue.claim(other, room: 200, at: now)
    #expect(again.map(\.resolved) == [[0], []])
    try queue.record(again[0], [outcome(1), outcome(66)], .held, by: other, at: now)
    // The first worker knows nothing of these, and has the outcome of an unrelated entry.
    try queue.record(
      [
        EntryUpdate(
          got[0], [outcome(1, .rejected), outcome(2, .rejected), outcome(66, .dead)], .held),
        EntryUpdate(got[1], [outcome()], .finished),
      ], by: one, at: now)
    // The same again, as if its reply had been lost.
    try queue.record(again[0], [outcome(1), outcome(66)], .held, by: other, at: now)
    let rest = (3..<66).map { outcome($0) } + [outcome(2), outcome(67), outcome(68), outcome(69)]
    try queue.record(again[0], rest, .finished, by: other, at: now)
    try queue.record(got[0], rest, .finished, by: one, at: now)
    let wanted =
      ["a/0 accepted"]
      + (0..<70).map { "m/\($0) \($0 == 2 ? "rejected" : "accepted")" }
    #expect(try place.ends().sorted() == wanted.sorted())
    #expect(try queue.depths(at: now)["shop"]?.claimed ?? 0 == 0)
  }

  @Test(arguments: Engine.here) func roomCountsNotifications(_ engine: Engine) throws {
    let queue = try open(engine, (1...10).map { many("m\($0)", 100) })
    let workerID = try queue.join()
    #expect(try queue.claim(workerID, room: 350, at: now).count == 3)
    // An entry larger than the room is claimed alone; otherwise it would never be claimed.
    #expect(try queue.claim(workerID, room: 10, at: now).count == 1)
    #expect(try queue.claim(workerID, room: 0, at: now).count == 0)
  }

  // MARK: Lanes

  private func entry(_ id: String, in lane: Lane, to token: String = "5f79cfda") -> NewEntry {
    var entry = NewEntry(app: "shop", id: id, token: token, payload: "{\"aps\":{}}")
    entry.lane = lane
    return entry
  }

  @Test(arguments: Engine.here) func aLaneOvertakesThoseAfterIt(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    _ = try queue.enqueue(
      [
        entry("b1", in: .bulk), entry("b2", in: .bulk), entry("n1", in: .normal),
        entry("n2", in: .normal),
      ], at: now)
    // One was deferred, and is due now.
    let first = try queue.claim(workerID, lanes: [.bulk], room: 1, at: now)
    #expect(first.ids == ["b1"])
    try queue.record(
      first[0], [], .deferred(at: now + 5, isRequested: true, line: "429"), by: workerID, at: now)
    _ = try queue.enqueue([entry("u1", in: .urgent), entry("u2", in: .urgent)], at: now)
    let got = try queue.claim(workerID, room: 9, at: now + 5)
    #expect(got.ids == ["u1", "u2", "n1", "n2", "b1", "b2"])
    #expect(got.map(\.content.lane) == [.urgent, .urgent, .normal, .normal, .bulk, .bulk])
  }

  @Test(arguments: Engine.here) func aClaimTakesOnlyItsLanes(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    _ = try queue.enqueue(Lane.allCases.map { entry("\($0)", in: $0) }, at: now)
    #expect(try queue.claim(workerID, lanes: [.bulk], room: 9, at: now).ids == ["bulk"])
    #expect(try queue.claim(workerID, lanes: [.bulk], room: 9, at: now) == [])
    #expect(
      try queue.claim(workerID, lanes: [.urgent, .normal], room: 1, at: now).ids
        == ["urgent"])
    #expect(try queue.isAnythingThere(app: "shop", at: now))
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["normal"])
    #expect(try !queue.isAnythingThere(app: "shop", at: now))
  }

  /// Entries of several lanes that were added together have the same number in their streams.
  @Test(arguments: Engine.here) func eachLanesEntryEndsForItself(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    _ = try queue.enqueue(Lane.allCases.map { entry("\($0)", in: $0) }, at: now)
    var got = try queue.claim(workerID, room: 9, at: now)
    #expect(got.count == 3)
    for lane in Lane.allCases {
      let ended = got.removeFirst()
      #expect(ended.content.lane == lane)
      try queue.record(ended, [outcome()], .finished, by: workerID, at: now)
      #expect(try queue.depths(at: now)["shop"]?.claimed ?? 0 == got.count)
      #expect(try queue.known(["\(lane)"], app: "shop")["\(lane)"]?.outcome != nil)
    }
    #expect(try place.ends() == ["urgent/0 accepted", "normal/0 accepted", "bulk/0 accepted"])
  }

  /// Whatever happens to an entry, it keeps its lane.
  @Test(arguments: Engine.here, Lane.allCases) func anEntryKeepsItsLane(
    _ engine: Engine, _ lane: Lane
  ) throws {
    let queue = try open(engine)
    var (workerID, time) = (try queue.join(), now)
    _ = try queue.enqueue([entry("a", in: lane), entry("b", in: lane)], at: now)
    func claim() throws -> [Entry] {
      for other in Lane.allCases where other != lane {
        #expect(try queue.claim(workerID, lanes: [other], room: 9, at: time) == [])
      }
      let got = try queue.claim(workerID, lanes: [lane], room: 9, at: time)
      #expect(got.ids == ["a", "b"])
      #expect(got.allSatisfy { $0.content.lane == lane })
      return got
    }
    for disposition in [
      EntryUpdate.Disposition.released(at: nil), .released(at: now + 1000),
      .deferred(at: now + 2000, isRequested: true, line: "429"),
      .deferred(at: ParkedTime.of(now + 60_000, isGuess: true), isRequested: true, line: "503"),
    ] {
      try queue.record(
        try claim().map { EntryUpdate($0, [], disposition) }, by: workerID, at: now)
      time += 1000
      _ = try queue.bringBack(app: "shop", at: time)
    }
    _ = try claim()
    try queue.leave(workerID, line: "gone", at: time)
    workerID = try queue.join()
    _ = try claim()
    #expect(try queue.reclaim(silentSince: now + 1, at: time) == 2)
    // By now they are suspects, which any claim of a free worker takes.
    workerID = try queue.join()
    let got = try queue.claim(workerID, lanes: [.normal], room: 9, at: time)
    try #require(got.map(\.content.lane) == [lane, lane])
    try queue.record(got[0], [], .dead(line: "enough"), by: workerID, at: time)
    try queue.record(got[1], [outcome()], .finished, by: workerID, at: time)
    #expect(try place.laneOfTheDead() == lane.rawValue)
    #expect(try !queue.isAnythingThere(app: "shop", at: time + 1_000_000))
  }

  @Test(arguments: Engine.here) func eachLaneIsCounted(_ engine: Engine) throws {
    let queue = try open(engine)
    let now = RelayClock.now
    _ = try queue.enqueue(
      [entry("n", in: .normal), entry("b1", in: .bulk), entry("b2", in: .bulk)], at: now - 5000)
    let depth = try #require(try queue.depths(at: now + 60_000)["shop"])
    #expect(depth.waiting.mapValues(\.count) == [.normal: 1, .bulk: 2])
    #expect(depth.waiting.values.allSatisfy { $0.ageS >= 59 })
    #expect((depth.ready, depth.ageS >= 59) == (3, true))
  }

  // MARK: Due times

  private func entry(_ id: String, due: Int64?, in lane: Lane = .normal) -> NewEntry {
    var entry = entry(id, in: lane)
    entry.due = due
    return entry
  }

  @Test(arguments: Engine.here, Lane.allCases) func nothingIsSentBeforeItIsDue(
    _ engine: Engine, _ lane: Lane
  ) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    let now = RelayClock.now
    // Ends in 999 ms, as the times of entries that wait for APNs do.
    let due = (now + 60_000) / 1000 * 1000 + 999
    func dueOfLater() throws -> Int64? { try queue.left(.id("later"), app: "shop")[""]?.due }
    _ = try queue.enqueue(
      [
        entry("later", due: due, in: lane), entry("now", due: nil, in: lane),
        entry("past", due: now - 5000, in: lane), entry("next year", due: due + 86_400_000),
      ], at: now)
    let first = try queue.claim(workerID, room: 9, at: now)
    #expect(Set(first.ids) == ["now", "past"])
    #expect(first.allSatisfy { (now - 1000...RelayClock.now + 1000).contains($0.made) })
    #expect(try queue.depths(at: now)["shop"]?.deferred == 2)
    #expect(try dueOfLater() == due)
    #expect(try !queue.isAnythingThere(app: "shop", at: due - 2000))
    #expect(try queue.claim(workerID, room: 9, at: due - 2000) == [])
    #expect(try dueOfLater() == due)
    // It waits for its time, not for APNs.
    #expect(try queue.bringBack(app: "shop", at: now) == 0)
    // Its ID is taken.
    #expect(try queue.enqueue([entry("later", due: nil)], at: now) == 0)
    let got = try queue.claim(workerID, room: 9, at: due + 1000)
    #expect(got.ids == ["later"])
    #expect(got.map(\.content.lane) == [lane])
    #expect(got.map(\.deliveries) == [1] && got.map(\.deferrals) == [0])
    // Its age counts from that time on, after retries too.
    #expect(got.map(\.made) == [due])
    #expect(try dueOfLater() == 0)
    let again = EntryUpdate.Disposition.deferred(at: due + 5000, isRequested: true, line: "429")
    try queue.record(got[0], [], again, by: workerID, at: due + 1000)
    #expect(try queue.claim(workerID, room: 9, at: due + 6000).map(\.made) == [due])
  }

  /// Until it is due it holds no other up. Then it has its place among them.
  @Test(arguments: Engine.here) func inOrderTooEachWaitsForItsTime(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    let now = RelayClock.now
    _ = try queue.enqueue([entry("later", due: now + 60_000), entry("now", due: nil)], at: now)
    let first = try inOrder(queue, workerID, at: now)
    #expect(first.ids == ["now"])
    try finish(queue, first, by: workerID)
    _ = try queue.enqueue([entry("last", due: nil)], at: now)
    let second = try inOrder(queue, workerID, at: now + 61_000)
    #expect(second.ids == ["later"])
    try finish(queue, second, by: workerID)
    #expect(try inOrder(queue, workerID, at: now + 61_000).ids == ["last"])
  }

  @Test(arguments: Engine.here) func aDueTimeIsInMillisecondsAndWithinAYear(_ engine: Engine) throws
  {
    let queue = try open(engine)
    let now = RelayClock.now
    for due in [now / 1000, -1, now + 367 * 86_400_000] {
      #expect(
        fault { try queue.enqueue([entry("a", due: due)], at: now) }
          == "a: due is in UNIX milliseconds, at most a year ahead, not \(due)")
    }
    #expect(try queue.enqueue([entry("a", due: now + 365 * 86_400_000)], at: now) == 1)
  }

  // MARK: Campaigns

  private func entry(_ id: String, of campaign: String?, due: Int64? = nil) -> NewEntry {
    var entry = entry(id, due: due)
    entry.campaign = campaign
    return entry
  }

  private func counts(_ queue: any QueueEngine, _ campaign: String) throws
    -> [PushOutcome.Kind: Int]
  { try queue.campaignOutcomes(app: "shop")[campaign]?.counts ?? [:] }

  @Test(arguments: Engine.here) func eachOutcomeOfACampaignCountsOnce(_ engine: Engine) throws {
    let queue = try open(engine)
    var list = many("list", 4)
    list.campaign = "sale 1"
    _ = try queue.enqueue(
      [list, entry("a", of: "sale 1"), entry("b", of: "other"), entry("c", of: nil)], at: now)
    #expect(try queue.campaignOutcomes(app: "shop") == [:])
    let (slow, quick) = (try queue.join(), try queue.join())
    let first = try queue.claim(slow, room: 99, at: now)
    try #require(first.ids == ["list", "a", "b", "c"])
    try queue.record(
      [
        EntryUpdate(first[0], [outcome(0), outcome(2, .rejected), outcome(3)], .held),
        EntryUpdate(first[2], [outcome(0, .unknown)], .finished),
        EntryUpdate(first[3], [outcome()], .finished),
      ], by: slow, at: now)
    #expect(try counts(queue, "sale 1") == [.accepted: 2, .rejected: 1])
    // Its lease has expired, and another one ends them too.
    _ = try queue.renew(quick, at: now + 100_000)
    _ = try queue.reclaim(silentSince: now + 50_000, at: now)
    let second = try queue.claim(quick, room: 99, at: now)
    try #require(second.ids == ["list", "a"])
    #expect(second.map(\.content.campaign) == ["sale 1", "sale 1"])
    try queue.record(
      [
        EntryUpdate(second[0], [outcome(1, .cancelled)], .finished),
        EntryUpdate(second[1], [outcome(0, .dead)], .dead(line: "x")),
      ], by: quick, at: now + 5)
    try queue.record(
      [
        EntryUpdate(first[0], [outcome(1)], .finished),
        EntryUpdate(first[1], [outcome()], .finished),
      ],
      by: slow, at: now + 9)
    #expect(try counts(queue, "sale 1") == [.accepted: 2, .rejected: 1, .cancelled: 1, .dead: 1])
    #expect(try queue.campaignOutcomes(app: "shop")["sale 1"]?.changed == now + 5)
    #expect(try counts(queue, "other") == [.unknown: 1])
    #expect(try queue.campaignOutcomes(app: "shop").count == 2)
    #expect(try queue.campaignOutcomes(app: "other") == [:])
    #expect(try queue.left(.campaigns, app: "shop") == [:])
  }

  @Test(arguments: Engine.here) func whatIsLeftOfACampaign(_ engine: Engine) throws {
    let queue = try open(engine)
    var (list, bulk) = (many("list", 300), entry("bulk", of: "sale"))
    (list.campaign, bulk.lane) = ("sale", .bulk)
    _ = try queue.enqueue(
      [list, bulk, entry("a", of: "sale"), entry("b", of: "other"), entry("c", of: nil)], at: now)
    var left = EntriesLeft()
    left.waiting = EntriesLeft.Count(entries: 3, devices: 302)
    #expect(try queue.left(.campaign("sale"), app: "shop") == ["sale": left])
    let (workerID, got) = try queue.claimed(room: 1)
    try #require(got.ids == ["list"])
    try queue.record(
      [EntryUpdate(got[0], (0..<100).map { outcome($0) }, .held)], by: workerID, at: now)
    left.waiting = EntriesLeft.Count(entries: 2, devices: 2)
    left.held = EntriesLeft.Count(entries: 1, devices: 200)
    var other = EntriesLeft()
    other.waiting = EntriesLeft.Count(entries: 1, devices: 1)
    #expect(try queue.left(.campaigns, app: "shop") == ["sale": left, "other": other])
    #expect(try queue.left(.id("a"), app: "shop") == ["sale": other])
    #expect(try queue.left(.id("c"), app: "shop") == ["": other])
    #expect(try queue.left(.id("none"), app: "shop") == [:])
    #expect(try queue.left(.campaigns, app: "other") == [:])
    try queue.record(
      [EntryUpdate(got[0], (100..<300).map { outcome($0) }, .finished)], by: workerID, at: now)
    left.waiting = EntriesLeft.Count(entries: 2, devices: 2)
    left.held = EntriesLeft.Count()
    #expect(try queue.left(.campaign("sale"), app: "shop") == ["sale": left])
  }

  @Test(arguments: Engine.here) func rejectionsOfACampaignCountByReason(_ engine: Engine) throws {
    let queue = try open(engine)
    var list = many("list", 5)
    list.campaign = "sale 1"
    _ = try queue.enqueue([list], at: now)
    let (workerID, got) = try queue.claimed()
    let reasons = [
      ("BadDeviceToken", 400), ("BadDeviceToken", 400), ("Unregistered", 410), ("a b:c", 400),
    ]
    var outcomes = reasons.enumerated().map { position, reason in
      var one = outcome(position, .rejected)
      (one.reason, one.httpStatus) = reason
      return one
    }
    outcomes.append(outcome(4))
    try queue.record(try #require(got.first), outcomes, .finished, by: workerID, at: now)
    let counted = try #require(try queue.campaignOutcomes(app: "shop")["sale 1"])
    #expect(counted.counts == [.accepted: 1, .rejected: 4])
    #expect(counted.reasons == ["BadDeviceToken": 2, "Unregistered": 1, "other": 1])
    #expect(counted.gone == 1)
  }

  @Test(arguments: Engine.here) func everythingLeftOfAnApp(_ engine: Engine) throws {
    let queue = try open(
      engine,
      [many("list", 30), entry("a", of: "sale"), entry("b", of: "sale"), entry("c", of: nil)])
    let left = try queue.left(.all, app: "shop")
    #expect(left["sale"]?.waiting == EntriesLeft.Count(entries: 2, devices: 2))
    #expect(left[""]?.waiting == EntriesLeft.Count(entries: 2, devices: 31))
    #expect(left.count == 2)
    #expect(try queue.left(.all, app: "other") == [:])
  }

  @Test(arguments: Engine.here) func workersOfAnAppAreListed(_ engine: Engine) throws {
    let queue = try open(engine)
    #expect(try queue.workers(app: "shop", at: now) == [])
    let first = try queue.join(app: "shop", named: "one 1", at: now)
    let second = try queue.join(app: "shop", named: "two 2", at: now)
    _ = try queue.join(app: "other", named: "one 1", at: now)
    let found = try queue.workers(app: "shop", at: now + 500)
    #expect(found.map(\.number) == [first.number, second.number])
    #expect(found.map(\.name) == ["one 1", "two 2"])
    #expect(found.allSatisfy { $0.silentMS <= 10_000 && $0.isRunning })
    try queue.leave(first, line: "x", at: now)
    #expect(try queue.workers(app: "shop", at: now).map(\.name) == ["two 2"])
  }

  @Test(arguments: Engine.here) func whatIsPausedWaitsUntilItIsResumed(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(
      engine,
      (0..<4).map { entry("sale-\($0)", of: "sale") } + [
        entry("a", of: "other"), entry("b", of: nil),
      ], room: 3)
    try queue.record(
      got.reversed().map { EntryUpdate($0, [], .released(at: PausedTime.due)) }, by: workerID,
      at: now)
    var left = EntriesLeft()
    left.waiting = EntriesLeft.Count(entries: 4, devices: 4)
    #expect(try queue.left(.campaign("sale"), app: "shop") == ["sale": left])
    let others = try queue.claim(workerID, room: 9, at: now + 370 * 86_400_000)
    #expect(others.ids == ["sale-3", "a", "b"])
    try queue.record(
      others.map { EntryUpdate($0, [], .released(at: PausedTime.due)) }, by: workerID, at: now)
    #expect(try queue.bringBack(app: "shop", at: now) == 0)
    #expect(try !queue.isAnythingThere(app: "shop", at: now + 370 * 86_400_000))
    // As long as both are paused, only what has no campaign is not.
    #expect(try queue.advance(app: "shop", cancelled: [], paused: ["sale", "other"], at: now) == 1)
    #expect(try queue.advance(app: "other", cancelled: [], paused: [], at: now) == 0)
    _ = try queue.enqueue([entry("new", of: "sale")], at: now)
    #expect(try queue.advance(app: "shop", cancelled: [], paused: ["other"], at: now) == 4)
    #expect(try queue.advance(app: "shop", cancelled: [], paused: ["other"], at: now) == 0)
    let again = try queue.claim(workerID, room: 9, at: now)
    #expect(again.ids == ["sale-0", "sale-1", "sale-2", "sale-3", "b", "new"])
    #expect(again.allSatisfy { $0.deliveries == 1 })
  }

  @Test(arguments: Engine.here, Lane.allCases) func whatIsCancelledWaitsForNoTime(
    _ engine: Engine, _ lane: Lane
  ) throws {
    let queue = try open(engine)
    let now = RelayClock.now
    var all = ["deferred", "paused", "released"].map { entry($0, of: "sale") }
    all.append(entry("scheduled", of: "sale", due: now + 600_000))
    all.append(entry("other", of: "other", due: now + 600_000))
    all.append(entry("single", of: nil, due: now + 600_000))
    all.append(entry("late", of: nil, due: now + 600_000))
    for index in all.indices { all[index].lane = lane }
    _ = try queue.enqueue(all, at: now)
    let (workerID, got) = try queue.claimed(at: now)
    try #require(got.ids == ["deferred", "paused", "released"])
    try queue.record(
      [
        EntryUpdate(got[0], [], .deferred(at: now + 60_000, isRequested: true, line: "429")),
        EntryUpdate(got[1], [], .released(at: PausedTime.due)),
        EntryUpdate(got[2], [], .released(at: now + 60_000)),
      ], by: workerID, at: now)
    #expect(try !queue.isAnythingThere(app: "shop", at: now))
    #expect(
      try queue.advance(
        app: "shop", cancelled: [.campaign("sale"), .id("single")], paused: ["sale"], at: now) == 5)
    #expect(try queue.isAnythingThere(app: "shop", at: now))
    #expect(
      try queue.claim(workerID, room: 9, at: now).ids
        == ["deferred", "paused", "released", "scheduled", "single"])
  }

  /// A worker that does not know the new orders yet may return an entry, and end.
  @Test(arguments: Engine.here) func whatIsPausedTooLateIsResumedToo(_ engine: Engine) throws {
    let queue = try open(engine)
    let store = OrderStore(queue, app: "shop")
    try store.change { $0.set(.paused, of: "sale", at: now) }
    let orders = WorkerOrders(queue, app: "shop")
    #expect(try orders.read(at: 0))
    try store.change { $0.set(nil, of: "sale", at: now) }
    #expect(try orders.read(at: 1000))
    try orders.advance(at: 1000, now)
    _ = try queue.enqueue([entry("a", of: "sale")], at: now)
    let late = try queue.join()
    try queue.record(
      queue.claim(late, room: 9, at: now).map {
        EntryUpdate($0, [], .released(at: PausedTime.due))
      },
      by: late, at: now)
    #expect(try !orders.read(at: 9000))
    #expect(orders.hasToAdvance(at: 9000))
    try orders.advance(at: 9000, now)
    #expect(try queue.claim(late, room: 9, at: now).ids == ["a"])
    try orders.advance(at: 700_000, now)
    #expect(!orders.hasToAdvance(at: .max))
  }

  private func paced(
    _ queue: any QueueEngine, _ workerID: WorkerID, room: Int, lanes: [Lane] = Lane.allCases
  ) throws -> [String] {
    let got = try queue.claim(workerID, lanes: lanes, room: room, at: now)
    try queue.record(
      got.map {
        EntryUpdate($0, [], .released(at: $0.content.campaign.map(PacedTime.of)))
      }, by: workerID, at: now)
    return got.ids
  }

  @Test(arguments: Engine.here) func whatWaitsForALimitComesBackInOrder(_ engine: Engine) throws {
    let queue = try open(engine)
    var bulk = entry("bulk", of: "sale")
    bulk.lane = .bulk
    _ = try queue.enqueue(
      (0..<4).map { entry("sale-\($0)", of: "sale") } + [bulk, entry("a", of: "other")], at: now)
    let workerID = try queue.join()
    #expect(try paced(queue, workerID, room: 9).count == 6)
    #expect(try !queue.isAnythingThere(app: "shop", at: now + 370 * 86_400_000))
    var left = EntriesLeft()
    left.waiting = EntriesLeft.Count(entries: 5, devices: 5)
    #expect(try queue.left(.campaign("sale"), app: "shop") == ["sale": left])
    func come(_ campaign: String, _ count: Int, app: String = "shop", lanes: [Lane] = Lane.allCases)
      throws -> Int
    { try queue.advance(limited: campaign, app: app, lanes: lanes, upTo: count) }
    #expect(try come("sale", 9, app: "other") == 0)
    #expect(try come("none", 9) == 0)
    #expect(try come("sale", 2) == 2)
    _ = try queue.enqueue([entry("new", of: "sale")], at: now)
    let first = try queue.claim(workerID, room: 9, at: now)
    #expect(first.ids == ["sale-0", "sale-1", "new"])
    #expect(first.allSatisfy { $0.deliveries == 1 })
    #expect(try come("sale", 9, lanes: [.bulk]) == 1)
    #expect(try come("sale", 9, lanes: [.urgent, .bulk]) == 0)
    #expect(try come("sale", 9) == 2)
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["sale-2", "sale-3", "bulk"])
    #expect(try come("sale", 9) == 0)
    #expect(try queue.left(.campaign("other"), app: "shop")["other"]?.waiting.entries == 1)
  }

  /// Neither do those of other campaigns come, nor what waits for another reason.
  @Test(arguments: Engine.here) func withoutItsLimitACampaignWaitsNoLonger(_ engine: Engine) throws
  {
    let queue = try open(engine)
    let store = OrderStore(queue, app: "shop")
    let now = RelayClock.now
    try store.change { orders in
      for campaign in ["a", "b", "c"] { orders.set(perSecond: 5, of: campaign, at: now) }
      orders.set(.paused, of: "paused", at: now)
    }
    var all = ["a", "b", "c"].map { entry($0, of: $0) }
    all[2].lane = .urgent
    _ = try queue.enqueue(
      all + [entry("later", of: "a", due: now + 600_000), entry("p", of: "paused")], at: now)
    let (workerID, got) = try queue.claimed(at: now)
    try queue.record(
      got.map { entry in
        let campaign = entry.content.campaign ?? ""
        let due = campaign == "paused" ? PausedTime.due : PacedTime.of(campaign)
        return EntryUpdate(entry, [], .released(at: due))
      }, by: workerID, at: now)
    let depth = try #require(queue.depths(at: now)["shop"])
    #expect(depth.paced == 3 && depth.paused == 1 && depth.deferred == 1 && depth.claimed == 0)
    #expect(depth.ready == 0)
    try store.advance(by: store.read(), at: now)
    #expect(try queue.claim(workerID, room: 9, at: now) == [])
    for campaign in ["a", "c"] { try queue.setAppState("rate of \(campaign)", "1", app: "shop") }
    try store.change { $0.set(perSecond: nil, of: "a", at: now) }
    #expect(try queue.appState("rate of a", app: "shop") == nil)
    #expect(try queue.appState("rate of c", app: "shop") == "1")
    try store.advance(by: store.read(), at: now)
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["a"])
    // A limit does not delay the end of cancelled entries.
    try store.change { $0.set(.cancelled, of: "c", at: now) }
    #expect(try queue.appState("rate of c", app: "shop") == nil)
    try store.advance(by: store.read(), at: now)
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["c"])
    #expect(try queue.advance(app: "other", exceptLimited: []) == 0)
    #expect(try queue.advance(app: "shop", exceptLimited: []) == 1)
    #expect(try queue.claim(workerID, room: 9, at: now).ids == ["b"])
  }

  @Test(arguments: Engine.here) func thousandsOfALimitComeBack(_ engine: Engine) throws {
    let queue = try open(engine, (0..<2500).map { entry("\($0)", of: "sale") })
    let workerID = try queue.join()
    while try !paced(queue, workerID, room: 1000).isEmpty {}
    #expect(try queue.advance(app: "shop", exceptLimited: ["sale"]) == 0)
    #expect(try queue.advance(app: "shop", exceptLimited: ["other"]) == 2500)
    #expect(try queue.depths(at: now)["shop"]?.paced == 0)
  }

  /// A paused entry keeps its place in the line of its device, and so does a blocked one.
  @Test(arguments: Engine.here) func inOrderNoPauseIsOvertaken(_ engine: Engine) throws {
    let queue = try open(
      engine, [entry("a", of: "sale"), entry("b", of: nil), entry("c", of: "sale")])
    let workerID = try queue.join()
    let first = try inOrder(queue, workerID)
    try #require(first.ids == ["a"])
    try queue.record(first[0], [], .released(at: PausedTime.due), by: workerID, at: now)
    #expect(try inOrder(queue, workerID) == [])
    _ = try queue.advance(app: "shop", cancelled: [.campaign("sale")], paused: [], at: now)
    for id in ["a", "b", "c"] {
      let got = try inOrder(queue, workerID)
      #expect(got.ids == [id])
      try finish(queue, got, by: workerID)
    }
  }

  @Test(arguments: Engine.here) func campaignsAreForgottenWithTheirOutcomes(_ engine: Engine) throws
  {
    let queue = try open(engine)
    let workerID = try queue.join()
    for (id, campaign, time) in [("a", "old", now), ("b", "new", now), ("c", "new", now + 100)] {
      _ = try queue.enqueue([entry(id, of: campaign)], at: now)
      let got = try #require(queue.claim(workerID, room: 9, at: now).first)
      try queue.record(got, [outcome()], .finished, by: workerID, at: time)
    }
    _ = try queue.trim(before: now)
    #expect(try queue.campaignOutcomes(app: "shop").count == 2)
    _ = try queue.trim(before: now + 1)
    #expect(try queue.campaignOutcomes(app: "shop").mapValues(\.counts) == ["new": [.accepted: 2]])
  }

  @Test(arguments: Engine.here) func aCampaignIsLikeAnID(_ engine: Engine) throws {
    let queue = try open(engine)
    for name in ["", "a\0b", String(repeating: "x", count: 65)] {
      #expect(fault { try queue.enqueue([entry("a", of: name)], at: now) }.contains("the campaign"))
    }
    let longest = String(repeating: "é", count: 64)
    #expect(try queue.enqueue([entry("a", of: longest)], at: now) == 1)
    #expect(try queue.claim(queue.join(), room: 9, at: now).map(\.content.campaign) == [longest])
  }

  @Test(arguments: Engine.here) func anAppIsServedByItsWorkers(_ engine: Engine) throws {
    let queue = try open(engine)
    func isServed(_ app: String, at time: Int64) throws -> Bool {
      try queue.isServed(app, withinMS: 1000, at: time)
    }
    #expect(try !isServed("shop", at: now))
    let workerID = try queue.join()
    #expect(try isServed("shop", at: now))
    #expect(try !isServed("shop", at: now + 2000))
    #expect(try !isServed("other", at: now))
    try queue.leave(workerID, line: "done", at: now)
    #expect(try !isServed("shop", at: now))
  }

  @Test(arguments: Engine.here) func ordersAreForAllRelays(_ engine: Engine) throws {
    let store = OrderStore(try open(engine), app: "shop")
    let other = OrderStore(try open(engine), app: "shop")
    #expect(try store.read() == Orders())
    let now = now
    try store.change { $0.set(.paused, of: "sale \"1\"", at: now) }
    var calls = 0
    let orders = try other.change { orders in
      // Another command comes in between.
      if calls == 0 { try store.change { $0.isPaused = true } }
      calls += 1
      orders.cancelledIDs.insert("x")
    }
    #expect(calls == 2)
    #expect(orders.generation == 3)
    #expect(try store.read() == orders)
    #expect(orders.isPaused && orders.campaigns(.paused) == ["sale \"1\""])
    // A change to the same value counts for nothing.
    #expect(try store.change { $0.isPaused = true }.generation == 3)
    #expect(try OrderStore(open(engine), app: "other").read() == Orders())
    try open(engine).setAppState("orders", "?", app: "shop")
    #expect(fault { try store.read() } == "the orders of shop in the queue are unreadable: ?")
  }

  /// An order to cancel is kept while something waits for it, even for ever.
  @Test(arguments: Engine.here) func oldOrdersAreForgotten(_ engine: Engine) throws {
    let queue = try open(engine)
    let store = OrderStore(queue, app: "shop")
    let now = now
    _ = try queue.enqueue([entry("a", of: "waits"), entry("b", of: nil)], at: now)
    try store.change { orders in
      orders.set(.cancelled, of: "waits", at: now)
      orders.set(.cancelled, of: "old", at: now)
      orders.set(.cancelled, of: "new", at: now + 2)
      orders.set(.paused, of: "paused", at: now)
      orders.cancelledIDs = ["b", "done"]
    }
    try store.forgetDoneIDs(store.read())
    #expect(try store.forgetOld(before: now + 1) == 1)
    let orders = try store.read()
    #expect(orders.campaigns(.cancelled) == ["waits", "new"])
    #expect(orders.campaigns(.paused) == ["paused"])
    #expect(orders.cancelledIDs == ["b"])
    // A limit is kept while the campaign has outcomes.
    try store.change { $0.set(perSecond: 5, of: "slow", at: now) }
    _ = try queue.enqueue([entry("c", of: "slow")], at: now)
    let (workerID, all) = try queue.claimed()
    let got = all.filter { $0.content.id == "c" }
    #expect(try store.forgetOld(before: now + 1) == 0)
    try queue.record(got.map { EntryUpdate($0, [outcome()], .finished) }, by: workerID, at: now)
    #expect(try store.forgetOld(before: now + 1) == 0)
    _ = try queue.trim(before: now + 1)
    #expect(try store.forgetOld(before: now + 1) == 1)
    #expect(try store.read().limits == [:])
  }

  // MARK: Order

  private func device(_ id: String, _ token: String) -> NewEntry {
    NewEntry(app: "shop", id: id, token: token, payload: "{}")
  }

  private func inOrder(
    _ queue: any QueueEngine, _ workerID: WorkerID, room: Int = 99, at: Int64? = nil
  )
    throws -> [Entry]
  { try queue.claim(workerID, room: room, inOrder: true, at: at ?? now) }

  private func finish(_ queue: any QueueEngine, _ entries: [Entry], by workerID: WorkerID) throws {
    let updates = entries.map { entry in
      let count = entry.content.tokens == nil ? 1 : 2
      return EntryUpdate(entry, (0..<count).map { outcome($0) }, .finished)
    }
    try queue.record(updates, by: workerID, at: now)
  }

  @Test(arguments: Engine.here) func aDeviceGetsOneAfterTheOther(_ engine: Engine) throws {
    let queue = try open(engine)
    let list = NewEntry(
      app: "shop", id: "both", tokens: "[{\"token\":\"00AA\"},\"00bb\"]", payload: "{}")
    _ = try queue.enqueue(
      [
        device("a1", "00aa"), device("b1", "00bb"), device("a2", "00AA"), list,
        device("a3", "00aa"),
        device("c1", "no hex"), device("c2", "NO HEX"),
      ], at: now)
    let (one, other) = (try queue.join(), try queue.join())
    let first = try inOrder(queue, one)
    #expect(first.ids == ["a1", "b1", "c1"])
    #expect(try inOrder(queue, other) == [])
    #expect(try queue.depths(at: now)["shop"]?.ready == 4)
    #expect(try queue.depths(at: now)["shop"]?.deferred == 0)
    try finish(queue, [first[1], first[2]], by: one)
    // The list is blocked by another of its devices too.
    let second = try inOrder(queue, other)
    #expect(second.ids == ["c2"])
    try finish(queue, [first[0]], by: one)
    let third = try inOrder(queue, other)
    #expect(third.ids == ["a2"])
    try finish(queue, third, by: other)
    let fourth = try inOrder(queue, one)
    #expect(fourth.ids == ["both"])
    #expect(try inOrder(queue, one) == [])
    try finish(queue, fourth, by: one)
    #expect(try inOrder(queue, one).ids == ["a3"])
  }

  /// A device's entries keep their order within a lane.
  @Test(arguments: Engine.here) func noLaneWaitsForAnother(_ engine: Engine) throws {
    let queue = try open(engine)
    let workerID = try queue.join()
    for lane in Lane.allCases.reversed() {
      _ = try queue.enqueue(
        [
          entry("\(lane)1", in: lane, to: "00aa"), entry("\(lane)2", in: lane, to: "00aa"),
          NewEntry(app: "shop", id: "\(lane)c", channel: "AQID", payload: "{}", lane: lane),
        ], at: now)
    }
    let first = try inOrder(queue, workerID)
    #expect(first.ids == ["urgent1", "urgentc", "normal1", "normalc", "bulk1", "bulkc"])
    #expect(try inOrder(queue, workerID) == [])
    try finish(queue, first.filter { $0.content.lane == .bulk }, by: workerID)
    let second = try inOrder(queue, workerID)
    #expect(second.ids == ["bulk2"])
    try finish(queue, first.filter { $0.content.lane == .urgent }, by: workerID)
    #expect(try inOrder(queue, workerID).ids == ["urgent2"])
  }

  @Test(arguments: Engine.here) func channelsAreKeptInOrderToo(_ engine: Engine) throws {
    let queue = try open(engine)
    let all = [("1", "AQID"), ("2", "AQID"), ("3", "aqid")].map {
      NewEntry(app: "shop", id: $0, channel: $1, payload: "{}")
    }
    _ = try queue.enqueue(all, at: now)
    let workerID = try queue.join()
    let got = try inOrder(queue, workerID)
    #expect(got.ids == ["1", "3"])
    try finish(queue, got, by: workerID)
    #expect(try inOrder(queue, workerID).ids == ["2"])
  }

  @Test(arguments: Engine.here) func whatWaitsForATimeHoldsLaterOnesBack(_ engine: Engine) throws {
    let queue = try open(engine, (1...3).map { device("\($0)", "00aa") })
    let workerID = try queue.join()
    let got = try inOrder(queue, workerID)
    try queue.record(
      got[0], [], .deferred(at: now + 5000, isRequested: true, line: "429"), by: workerID, at: now)
    #expect(try inOrder(queue, workerID, at: now + 4000) == [])
    let again = try inOrder(queue, workerID, at: now + 5000)
    #expect(again.ids == ["1"])
    // A dead letter unblocks the next entry, and so does an entry of a worker that has left, once
    // it is finished.
    try queue.record(again[0], [], .dead(line: "no"), by: workerID, at: now)
    #expect(try inOrder(queue, workerID).ids == ["2"])
    try queue.leave(workerID, line: "gone", at: now)
    let other = try queue.join()
    let last = try inOrder(queue, other)
    #expect(last.ids == ["2"])
    try finish(queue, last, by: other)
    #expect(try inOrder(queue, other).ids == ["3"])
  }

  /// The option is turned off: no entry stays blocked.
  @Test(arguments: Engine.here) func withoutOrderWhatWasHeldBackComesStill(_ engine: Engine) throws
  {
    let queue = try open(engine, (1...3).map { device("\($0)", "00aa") })
    let workerID = try queue.join()
    for id in ["1", "2", "3"] {
      let got = try queue.claim(workerID, room: 9, inOrder: id == "1", at: now)
      #expect(got.ids == [id])
      try finish(queue, got, by: workerID)
    }
    #expect(try queue.depths(at: now)["shop"]?.ready ?? 0 == 0)
  }

  /// In any course of events, no device has two entries in flight, and each gets its entries in
  /// their order.
  @Test(arguments: Engine.here) func theOrderHoldsWhateverHappens(_ engine: Engine) throws {
    var random = SystemRandomNumberGenerator()
    let queue = try open(engine)
    let tokens = (0..<5).map { "0\($0)" }
    var expected: [String: [String]] = [:]
    var targets: [String: [String]] = [:]
    var entries: [NewEntry] = []
    for number in 0..<150 {
      let id = "\(number)"
      let own = Array(tokens.shuffled().prefix(number % 4 == 0 ? 2 : 1))
      targets[id] = own
      for token in own { expected[token, default: []].append(id) }
      let list = "[" + own.map { "\"\($0)\"" }.joined(separator: ",") + "]"
      entries.append(
        own.count == 1
          ? device(id, own[0]) : NewEntry(app: "shop", id: id, tokens: list, payload: "{}"))
    }
    _ = try queue.enqueue(Array(entries.prefix(60)), at: now)
    var rest = entries[60...]
    var workerIDs = try (0..<3).map { _ in try queue.join() }
    var held: [[Entry]] = [[], [], []]
    var ended: [String: [String]] = [:]
    var time = now
    var turns = 0
    while ended.values.map(\.count).reduce(0, +) < expected.values.map(\.count).reduce(0, +) {
      turns += 1
      #expect(turns < 20_000)
      if turns >= 20_000 { return }
      time += 100
      if turns % 7 == 0, let next = rest.popFirst() { _ = try queue.enqueue([next], at: time) }
      let one = Int.random(in: 0..<3, using: &random)
      held[one] += try inOrder(queue, workerIDs[one], room: Int.random(in: 1...9), at: time)
      let underWay = held.flatMap { $0 }.flatMap { targets[$0.content.id]! }
      #expect(Set(underWay).count == underWay.count, "a device has two under way")
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        // A worker leaves, and another one joins.
        try queue.leave(workerIDs[one], line: "gone", at: time)
        held[one] = []
        workerIDs[one] = try queue.join()
      case 1, 2:
        guard let entry = held[one].popLast() else { continue }
        try queue.record(
          entry, [], .deferred(at: time + 300, isRequested: true, line: "429"), by: workerIDs[one],
          at: time)
      case 3:
        guard let entry = held[one].popLast() else { continue }
        try queue.record(entry, [], .released(at: nil), by: workerIDs[one], at: time)
      default:
        guard !held[one].isEmpty else { continue }
        let entry = held[one].remove(at: Int.random(in: held[one].indices, using: &random))
        let own = targets[entry.content.id]!
        for token in own { ended[token, default: []].append(entry.content.id) }
        try queue.record(
          [EntryUpdate(entry, own.indices.map { outcome($0) }, .finished)], by: workerIDs[one],
          at: time)
      }
    }
    #expect(ended == expected)
  }

  // MARK: Connections of the fleet

  @Test(arguments: Engine.here) func aFleetSharesItsConnections(_ engine: Engine) throws {
    let queue = try open(engine)
    let (one, other) = (try queue.join(), try queue.join())
    func share(_ workerID: WorkerID, has held: Int, isNeeded: Bool = false) throws -> Int? {
      try queue.leaseConnections(workerID, held: held, wanted: 3, isNeeded: isNeeded, of: 4)
    }
    #expect(try share(one, has: 0) == 3)
    // Promised or held connections are not given to others, even if half of them would be the
    // others' share.
    #expect(try share(other, has: 0) == 1)
    #expect(try share(one, has: 3) == 2)
    #expect(try share(other, has: 1) == 1)
    #expect(try share(one, has: 2) == 2)
    #expect(try share(other, has: 1) == 2)
    try queue.leave(one, line: "gone", at: now)
    #expect(try share(other, has: 2) == 3)
    #expect(try share(one, has: 2) == nil)
    // Another app has its own quota.
    let third = try queue.join(app: "other", named: "test", at: now)
    #expect(try share(third, has: 0) == 3)
  }

  @Test(arguments: Engine.here) func oneWithNotificationsInHandKeepsItsConnection(_ engine: Engine)
    throws
  {
    let queue = try open(engine)
    let workerIDs = try (0..<3).map { _ in try queue.join() }
    func share(_ workerID: Int, has held: Int, isNeeded: Bool) throws -> Int? {
      try queue.leaseConnections(
        workerIDs[workerID], held: held, wanted: 1, isNeeded: isNeeded, of: 1)
    }
    #expect(try share(2, has: 0, isNeeded: false) == 1)
    #expect(try share(2, has: 1, isNeeded: true) == 1)
    #expect(try share(0, has: 0, isNeeded: false) == 0)
    #expect(try share(2, has: 1, isNeeded: true) == 1)
    // When a worker holds no entries and its connection is closed, it is another one's turn.
    #expect(try share(2, has: 1, isNeeded: false) == 0)
    #expect(try share(0, has: 0, isNeeded: false) == 0)
    #expect(try share(2, has: 0, isNeeded: false) == 0)
    #expect(try share(0, has: 0, isNeeded: false) == 1)
  }

  @Test(arguments: Engine.here) func aDeadLetterKeepsItsStory(_ engine: Engine) throws {
    let queue = try open(engine, [entry("a")])
    for _ in 1...2 {
      let workerID = try queue.join()
      _ = try queue.claim(workerID, room: 9, at: now)
      _ = try queue.reclaim(silentSince: now + 1, at: now)
    }
    let (workerID, got) = try queue.claimed()
    #expect(got.map(\.deliveries) == [3])
    try queue.record(got[0], [outcome(0, .dead)], .dead(line: "enough"), by: workerID, at: now)
    #expect(try queue.depths(at: now)["shop"]?.dead == 1)
    let history = try place.history(of: "a")
    #expect(history.split(separator: "\n").count == 3, "\(history)")
    #expect(history.contains("fell silent"), "\(history)")
    #expect(history.hasSuffix("enough"), "\(history)")
    #expect(try place.ends() == ["a/0 dead"])
    #expect(try queue.enqueue([entry("a")], at: now) == 0)
  }

  @Test(arguments: Engine.here) func theProviderTokenIsOneForAll(_ engine: Engine) throws {
    let (one, other) = (try open(engine), try open(engine))
    var made = 0
    func ask(_ queue: any QueueEngine, _ time: Int64, key: String = "K") throws -> String {
      try queue.providerToken(
        team: "T", key: key, madeAfter: time - 1000, at: time, within: 5000
      ) {
        made += 1
        return SharedToken(text: "token \(made)", made: time)
      }.text
    }
    #expect(try ask(one, now) == "token 1")
    #expect(try ask(other, now + 999) == "token 1")
    #expect(try ask(other, now + 1001) == "token 2")
    #expect(try ask(one, now + 1002) == "token 2")
    #expect(try ask(one, now + 1002, key: "L") == "token 3")
    // The clock was set back.
    #expect(try ask(one, now - 5000) == "token 4")
  }

  @Test(arguments: Engine.here) func aProviderTokenIsAsOldAsItSays(_ engine: Engine) throws {
    let queue = try open(engine)
    func ask(_ time: Int64, _ text: String, made: Int64) throws -> SharedToken {
      try queue.providerToken(
        team: "T", key: "K", madeAfter: time - 1000, at: time, within: 5000
      ) { SharedToken(text: text, made: made) }
    }
    #expect(try ask(now, "a", made: now - 900) == SharedToken(text: "a", made: now - 900))
    #expect(try ask(now + 50, "b", made: now) == SharedToken(text: "a", made: now - 900))
    #expect(try ask(now + 200, "c", made: now) == SharedToken(text: "c", made: now))
  }

  @Test(arguments: Engine.here) func whoeverMakesTheProviderTokenHoldsUpNobody(_ engine: Engine)
    throws
  {
    let queue = try open(engine)
    func ask(_ make: () throws -> SharedToken) throws -> SharedToken {
      try queue.providerToken(
        team: "T", key: "K", madeAfter: now - 1000, at: now, within: 5000, make: make)
    }
    // A failure is the caller's, and the next call tries again.
    #expect(
      fault { try ask { throw RelayFault("no token today") } } == "no token today")
    let made = try ask {
      // Meanwhile others work, as other processes do.
      let other = try self.open(engine)
      #expect(try other.enqueue([self.entry("a")], at: self.now) == 1)
      #expect(try other.claim(other.join(), room: 9, at: self.now).count == 1)
      return SharedToken(text: "slow", made: self.now)
    }
    #expect(made.text == "slow")
    // If a relay is killed while it makes a token, others wait no longer than the time allowed for
    // that.
    #expect(
      fault {
        try queue.providerToken(
          team: "T", key: "K", madeAfter: now + 1000, at: now + 2000, within: 200
        ) {
          try queue.providerToken(
            team: "T", key: "K", madeAfter: self.now + 1000, at: self.now + 2000, within: 50
          ) { throw RelayFault("two at the same time") }
        }
      }.contains("another relay has been making"))
  }

  /// The waiting relay requested the token before it was made.
  @Test(arguments: Engine.here) func whoWaitsForTheProviderTokenTakesIt(_ engine: Engine) throws {
    let (one, other) = (try open(engine), try open(engine))
    let now = RelayClock.now
    let got = Mutex<Result<SharedToken, any Error>?>(nil)
    let (asks, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let token = try one.providerToken(
      team: "T", key: "K", madeAfter: now - 1000, at: now, within: 60_000
    ) {
      Thread.detachNewThread {
        asks.signal()
        got.withLock { got in
          got = Result {
            try other.providerToken(
              team: "T", key: "K", madeAfter: now - 1000, at: now, within: 60_000
            ) { throw RelayFault("two tokens") }
          }
        }
        hasEnded.signal()
      }
      asks.wait()
      return SharedToken(text: "one", made: now + 1000)
    }
    hasEnded.wait()
    #expect(try got.withLock { try $0?.get() } == token)
  }

  @Test(arguments: Engine.here) func outcomesAreTrimmedByAge(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [entry("a"), entry("b")])
    try queue.record(got[0], [outcome()], .finished, by: workerID, at: now)
    try queue.record(got[1], [outcome()], .finished, by: workerID, at: now + 10)
    #expect(try queue.trim(before: now + 5) == 1)
    #expect(try place.ends() == ["b/0 accepted"])
  }

  @Test(arguments: Engine.here) func outcomesOfAnEntryThatIsUnderWayAreNotTrimmed(_ engine: Engine)
    throws
  {
    let (queue, workerID, got) = try claimed(engine, [many("m", 3)])
    try queue.record(got[0], [outcome(0)], .held, by: workerID, at: now)
    #expect(try queue.trim(before: now + 5) == 0)
  }

  private func refuse(
    _ queue: any QueueEngine, _ id: String, _ token: String, since: Int64, at time: Int64
  ) throws {
    _ = try queue.enqueue([entry(id)], at: now)
    let (workerID, got) = try queue.claimed()
    var outcome = PushOutcome(
      position: 0, token: WrittenToken(token), kind: .rejected, reason: "BadDeviceToken")
    (outcome.httpStatus, outcome.badSince) = (400, since)
    try queue.record(got[0], [outcome], .finished, by: workerID, at: time)
    try queue.leave(workerID, line: "done", at: now)
  }

  @Test(arguments: Engine.here) func refusedTokensAreRememberedInTheirOrder(_ engine: Engine) throws
  {
    let (one, other) = (try open(engine), try open(engine))
    try refuse(one, "1", "aa", since: 5, at: now)
    try refuse(one, "2", "bb", since: 6, at: now)
    let first = try other.badTokens(app: "shop", after: 0, most: 1)
    #expect(first.map(\.token) == ["aa"])
    #expect(first.map(\.at) == [now])
    let second = try other.badTokens(app: "shop", after: first[0].number, most: 9)
    #expect(second.map(\.token) == ["bb"])
    // Rejected again: it is listed again, after the others.
    try refuse(one, "3", "aa", since: 7, at: now + 9)
    let third = try other.badTokens(app: "shop", after: second[0].number, most: 9)
    #expect(third.map(\.token) == ["aa"])
    #expect(third.map(\.at) == [now + 9])
    #expect(try other.badTokens(app: "shop", after: third[0].number, most: 9) == [])
    #expect(try other.badTokens(app: "news", after: 0, most: 9) == [])
  }

  @Test(arguments: Engine.here) func tokensAreRefusedWithoutAnOutcomeToo(_ engine: Engine) throws {
    let queue = try open(engine)
    try queue.recordBadTokens(
      [GoneToken(token: "aa", since: 5), GoneToken(token: "bb", since: 4)], app: "shop", at: now)
    #expect(try queue.badTokens(app: "shop", after: 0, most: 9).map(\.token) == ["aa", "bb"])
    #expect(
      try queue.feedback(app: "shop", most: 9) == [
        GoneToken(token: "bb", since: 4), GoneToken(token: "aa", since: 5),
      ])
    #expect(try queue.feedback(app: "news", most: 9) == [])
    #expect(try queue.feedback(app: "shop", most: 1) == [GoneToken(token: "bb", since: 4)])
  }

  @Test(arguments: Engine.here) func theClockSetBackHidesNoRefusedToken(_ engine: Engine) throws {
    let queue = try open(engine)
    try refuse(queue, "1", "aa", since: 5, at: now)
    let last = try #require(queue.badTokens(app: "shop", after: 0, most: 9).last)
    try refuse(queue, "2", "bb", since: 5, at: now - 60_000)
    #expect(try queue.badTokens(app: "shop", after: last.number, most: 9).map(\.token) == ["bb"])
  }

  @Test(arguments: Engine.here) func refusedTokensAreForgottenByAge(_ engine: Engine) throws {
    let queue = try open(engine)
    try refuse(queue, "1", "aa", since: 5, at: now)
    try refuse(queue, "2", "bb", since: 6, at: now + 10)
    #expect(try queue.forgetBadTokens(before: now + 10) == 1)
    #expect(try queue.badTokens(app: "shop", after: 0, most: 9).map(\.token) == ["bb"])
    // Feedback waits for its reader.
    #expect(try queue.feedback(app: "shop", most: 9).map(\.token) == ["aa", "bb"])
  }

  @Test(arguments: Engine.here) func feedbackIsForgottenAsItWasTold(_ engine: Engine) throws {
    let queue = try open(engine)
    try refuse(queue, "1", "aa", since: 5, at: now)
    try refuse(queue, "2", "bb", since: 6, at: now)
    let told = try queue.feedback(app: "shop", most: 9)
    #expect(told == [GoneToken(token: "aa", since: 5), GoneToken(token: "bb", since: 6)])
    // Rejected again while the list is read, one with a later time, and one with an earlier time
    // than before.
    try refuse(queue, "3", "aa", since: 9, at: now)
    try refuse(queue, "4", "bb", since: 1, at: now)
    try queue.forgetFeedback(told, app: "news")
    try queue.forgetFeedback(told, app: "shop")
    #expect(try queue.feedback(app: "shop", most: 9) == [GoneToken(token: "aa", since: 9)])
  }

  @Test(arguments: Engine.here) func anOutcomeWithoutThatRefusesNoToken(_ engine: Engine) throws {
    let (queue, workerID, got) = try claimed(engine, [entry("a")])
    try queue.record(got[0], [outcome(0, .rejected)], .finished, by: workerID, at: now)
    #expect(try queue.badTokens(app: "shop", after: 0, most: 9) == [])
    #expect(try queue.feedback(app: "shop", most: 9) == [])
  }

  @Test(arguments: Engine.here) func theLastAnswersAreTold(_ engine: Engine) throws {
    let queue = try open(engine)
    for number in 1...3 { try refuse(queue, "\(number)", "0\(number)", since: 1, at: now) }
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let (workerID, got) = try queue.claimed()
    var good = outcome()
    good.httpStatus = 200
    // An expired entry never reached the service, so it is not a response.
    try queue.record(
      [
        EntryUpdate(got[0], [good], .finished),
        EntryUpdate(got[1], [outcome(0, .expired)], .finished),
      ],
      by: workerID, at: now)
    let answers = try queue.lastResponses(app: "shop", most: 3)
    #expect(answers.last == RecordedResponse(httpStatus: 200, reason: ""))
    #expect(answers.first == RecordedResponse(httpStatus: 400, reason: "BadDeviceToken"))
    #expect(answers.count <= 3)
    #expect(try queue.lastResponses(app: "news", most: 3) == [])
  }

  @Test(arguments: Engine.here) func notesAreForAllRelays(_ engine: Engine) throws {
    let (one, other) = (try open(engine), try open(engine))
    #expect(try one.appState("n", app: "shop") == nil)
    try one.setAppState("n", "first", app: "shop")
    try other.setAppState("n", "é", app: "shop")
    #expect(try one.appState("n", app: "shop") == "é")
    #expect(try one.appState("n", app: "news") == nil)
    try one.setAppState("n", nil, app: "shop")
    #expect(try other.appState("n", app: "shop") == nil)
  }

  @Test(arguments: Engine.here) func manyWorkersShareWithoutTakingOneTwice(_ engine: Engine) throws
  {
    let count = 2000
    let first = try open(engine)
    _ = try first.enqueue((0..<count).map { entry("id-\($0)") }, at: now)
    let lock = NSLock()
    nonisolated(unsafe) var seen: [String] = []
    nonisolated(unsafe) let place = place!
    let time = now
    concurrently(4) { _ in
      let queue = try place.open()
      let workerID = try queue.join(app: "shop", named: "test", at: time)
      while true {
        let got = try queue.claim(workerID, room: 37, at: time)
        if got.isEmpty { break }
        lock.withLock { seen += got.ids }
        let outcome = PushOutcome(position: 0, token: "00", kind: .accepted)
        try queue.record(got.map { EntryUpdate($0, [outcome], .finished) }, by: workerID, at: time)
      }
    }
    #expect(seen.count == count)
    #expect(Set(seen).count == count)
  }
}
