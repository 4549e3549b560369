import Foundation
import XCTest

@testable import Relay

/// The rules of a queue. Each engine runs the same ones: a class of its own says how to open it.
class QueueRules: XCTestCase {
  static let now: Int64 = 1_800_000_000_000

  /// Opens the queue at this place, as one more process would.
  func open(_ place: String) throws -> any QueueEngine { throw XCTSkip("no engine of its own") }

  private(set) var place = ""
  var now: Int64 { Self.now }

  override func setUpWithError() throws {
    try XCTSkipIf(type(of: self) == QueueRules.self, "the engines run these")
    place = FileManager.default.temporaryDirectory.path + "/queue-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
  }

  override func tearDown() { try? FileManager.default.removeItem(atPath: place) }

  private func entry(_ id: String, app: String = "shop") -> NewEntry {
    NewEntry(app: app, id: id, token: "5f79cfda", payload: "{\"aps\":{}}")
  }

  private func many(_ id: String, _ count: Int) -> NewEntry {
    let tokens = (0..<count).map { "\"\(String(format: "%064x", $0))\"" }.joined(separator: ",")
    return NewEntry(app: "shop", id: id, tokens: "[\(tokens)]", payload: "{\"aps\":{}}")
  }

  private func outcome(_ position: Int = 0, _ end: PushOutcome.End = .accepted) -> PushOutcome {
    PushOutcome(position: position, token: "5f79cfda", end: end)
  }

  private func join(_ queue: any QueueEngine) throws -> WorkerSeat {
    try queue.join(app: "shop", named: "test", at: now)
  }

  func testEntriesComeInOrderAndOnce() throws {
    let queue = try open(place)
    let ids = (1...20).map { "id-\($0)" }
    XCTAssertEqual(try queue.enqueue(ids.map { entry($0) }, at: now), 20)
    let (one, other) = (try join(queue), try join(queue))
    XCTAssertEqual(
      try queue.claim(one, room: 7, at: now).map(\.content.id), Array(ids.prefix(7)))
    XCTAssertEqual(
      try queue.claim(other, room: 100, at: now).map(\.content.id), Array(ids.dropFirst(7)))
    XCTAssertEqual(try queue.claim(one, room: 7, at: now), [])
  }

  func testAnAppHasItsOwnEntries() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a", app: "other")], at: now)
    XCTAssertEqual(try queue.claim(join(queue), room: 9, at: now), [])
    XCTAssertEqual(try queue.depths(at: now)["other"]?.waiting, 1)
  }

  func testEverythingInAnEntryArrives() throws {
    let queue = try open(place)
    var wanted = NewEntry(
      app: "shop", id: "é-1", tokens: "[\"00ff\"]", payload: "{\"aps\":{\"alert\":\"ü\"}}")
    wanted.topic = "com.example.shop"
    wanted.pushType = "background"
    wanted.priority = 5
    wanted.expiry = 0
    wanted.collapseID = "c"
    wanted.deadline = 2_000_000_000
    _ = try queue.enqueue([wanted], at: now)
    let got = try queue.claim(join(queue), room: 9, at: now)
    XCTAssertEqual(got.map(\.content), [wanted])
    XCTAssertEqual(got.map(\.deliveries), [1])
    let broadcast = NewEntry(app: "shop", id: "b", channel: "AQID", payload: "{}")
    let device = NewEntry(app: "shop", id: "d", token: "00ff", payload: "{}")
    _ = try queue.enqueue([broadcast, device], at: now)
    XCTAssertEqual(
      try queue.claim(join(queue), room: 9, at: now).map(\.content), [broadcast, device])
  }

  func testAnIDIsTakenOnceWhileItWaitsIsHeldAndIsDone() throws {
    let queue = try open(place)
    XCTAssertEqual(try queue.enqueue([entry("a"), entry("a")], at: now), 1)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    XCTAssertEqual(try queue.enqueue([entry("a")], at: now), 0)
    try queue.record([Verdict(got[0], [outcome()], .finished)], by: seat, at: now)
    XCTAssertEqual(try queue.enqueue([entry("a"), entry("b")], at: now), 1)
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now).map(\.content.id), ["b"])
  }

  /// Many go together, and each stays one by itself: known ones, repeated ones, and those with other
  /// columns, wherever they stand among the others.
  func testManyAtOnceAreEachTakenForItself() throws {
    let queue = try open(place)
    let seat = try join(queue)
    let old = ["id-2", "id-40", "id-41", "id-199"]
    XCTAssertEqual(try queue.enqueue(old.map { entry($0) }, at: now), 4)
    for one in try queue.claim(seat, room: 2, at: now) {
      try queue.record([Verdict(one, [outcome()], .finished)], by: seat, at: now)
    }
    XCTAssertEqual(try queue.claim(seat, room: 9, at: now).map(\.content.id), ["id-41", "id-199"])
    var all = (1...200).map { entry("id-\($0)") }
    all[99].topic = "com.example.shop.voip"
    all[130] = many("id-131", 2)
    all[50].priority = 5
    all[51].expiry = 0
    all[149].payload = "{\"aps\":{\"alert\":\"ü\"}}"
    all.append(contentsOf: [entry("id-7"), entry("id-200")])
    XCTAssertEqual(try queue.enqueue(all, at: now), 196)
    let wanted = all.prefix(200).filter { !old.contains($0.id) }
    XCTAssertEqual(try queue.claim(seat, room: 1000, at: now).map(\.content), Array(wanted))
    XCTAssertEqual(try queue.enqueue(all, at: now), 0)
  }

  func testWhatIsKnownOfAnID() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b"), entry("c"), many("d", 2)], at: now)
    let channel = NewEntry(app: "shop", id: "e", channel: "AQID", payload: "{}")
    _ = try queue.enqueue([channel], at: now)
    XCTAssertEqual(
      try queue.known(["a", "d", "e", "none"], app: "shop"),
      [
        "a": KnownEntry(target: "5f79cfda"), "d": KnownEntry(), "e": KnownEntry(target: "AQID"),
      ])
    XCTAssertEqual(try queue.known(["a"], app: "other"), [:])
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 3, at: now)
    XCTAssertEqual(try queue.known(["a"], app: "shop")["a"]?.outcome, nil)
    var accepted = outcome()
    accepted.httpStatus = 200
    accepted.apnsID = "the-id"
    var gone = outcome(0, .rejected)
    gone.reason = "Unregistered"
    gone.httpStatus = 410
    gone.goneSince = 1_700_000_000
    try queue.record(
      [Verdict(got[0], [accepted], .finished), Verdict(got[1], [gone], .finished)], by: seat,
      at: now)
    let known = try queue.known(["a", "b", "c"], app: "shop")
    XCTAssertEqual(known["a"]?.outcome, accepted)
    XCTAssertEqual(known["b"]?.outcome, gone)
    XCTAssertEqual(known["c"], KnownEntry(target: "5f79cfda"))
  }

  /// A push whose id a list of tokens has is not answered with the outcome of one of those.
  func testAnIDOfAListIsAnothers() throws {
    let queue = try open(place)
    _ = try queue.enqueue([many("d", 2)], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 1, at: now)
    try queue.record(
      [
        Verdict(
          got[0],
          [
            PushOutcome(position: 0, token: "00", end: .accepted),
            PushOutcome(position: 1, token: "01", end: .accepted),
          ], .finished)
      ], by: seat, at: now)
    let waits = OutcomeWaits(queue)
    waits.start()
    defer { waits.end() }
    let told = expectation(description: "it is told")
    let number = waits.wait(app: "shop", id: "d", target: "01") { end in
      if case .isAnothers = end {} else { XCTFail("\(end)") }
      told.fulfill()
    }
    waits.queued(app: "shop", id: "d", number, isNew: false, forMS: 600_000)
    wait(for: [told], timeout: 60)
  }

  func testABatchWithAMistakeAddsNothing() throws {
    let queue = try open(place)
    var both = entry("b")
    both.tokens = "[]"
    XCTAssertThrowsError(try queue.enqueue([entry("a"), both], at: now))
    var everything = entry("c")
    everything.channel = "AQID"
    XCTAssertThrowsError(try queue.enqueue([entry("a"), everything], at: now))
    XCTAssertThrowsError(
      try queue.enqueue([entry("a"), NewEntry(app: "shop", id: "n", payload: "{}")], at: now))
    XCTAssertThrowsError(
      try queue.enqueue([entry("a"), entry(String(repeating: "x", count: 65))], at: now))
    XCTAssertEqual(try queue.claim(join(queue), room: 9, at: now), [])
  }

  func testWhatIsNotRecordedIsNotAcknowledged() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    _ = try queue.claim(seat, room: 9, at: now)
    try queue.leave(seat, saying: "gone", at: now)
    let other = try join(queue)
    let again = try queue.claim(other, room: 9, at: now)
    XCTAssertEqual(again.map(\.deliveries), [2])
  }

  func testOnlyTheSilentLoseTheirEntries() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let (silent, living) = (try join(queue), try join(queue))
    XCTAssertEqual(try queue.claim(silent, room: 1, at: now).count, 1)
    XCTAssertEqual(try queue.claim(living, room: 1, at: now).count, 1)
    XCTAssertTrue(try queue.renew(living, at: now + 100_000))
    XCTAssertEqual(try queue.reclaim(silentSince: now - 1, at: now + 119_000), 0)
    XCTAssertEqual(try queue.reclaim(silentSince: now + 1, at: now + 121_000), 1)
    XCTAssertEqual(
      try queue.claim(living, room: 9, at: now + 121_000).map(\.content.id), ["a"])
    XCTAssertFalse(try queue.renew(silent, at: now + 130_000))
    // It has to join again, for nobody would see it fall silent.
    _ = try queue.enqueue([entry("c")], at: now)
    XCTAssertEqual(try queue.claim(silent, room: 9, at: now + 130_000), [])
    XCTAssertEqual(try queue.claim(living, room: 9, at: now + 130_000).map(\.content.id), ["c"])
  }

  func testTheSecondOutcomeOfANotificationCountsForNothing() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let (slow, quick) = (try join(queue), try join(queue))
    let first = try queue.claim(slow, room: 9, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let next = try join(queue)
    let second = try queue.claim(next, room: 9, at: now)
    XCTAssertEqual(second.count, 1)
    _ = quick
    try queue.record([Verdict(second[0], [outcome()], .finished)], by: next, at: now)
    try queue.record([Verdict(first[0], [outcome(0, .rejected)], .finished)], by: slow, at: now)
    XCTAssertEqual(try ends(queue), ["a/0 accepted"])
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.held ?? 0, 0)
  }

  func testOneWhoLostAnEntryDoesNotPutItOff() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let slow = try join(queue)
    let first = try queue.claim(slow, room: 9, at: now)
    _ = try queue.reclaim(silentSince: now + 1, at: now)
    let next = try join(queue)
    XCTAssertEqual(try queue.claim(next, room: 9, at: now).count, 1)
    let story = Verdict.Next.later(at: now + 5, isAnswered: true, story: "429")
    try queue.record([Verdict(first[0], [], story)], by: slow, at: now)
    try queue.record([Verdict(first[0], [], .dead(story: "x"))], by: slow, at: now)
    try queue.record([Verdict(first[0], [], .untouched)], by: slow, at: now)
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.held, 1)
  }

  func testLaterWaitsForItsTimeAndComesFirst() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    let later = Verdict.Next.later(at: now + 60_000, isAnswered: true, story: "TooManyRequests")
    try queue.record([Verdict(got[0], [], later)], by: seat, at: now)
    _ = try queue.enqueue([entry("b")], at: now)
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.later, 1)
    XCTAssertEqual(try queue.claim(seat, room: 1, at: now + 59_999).map(\.content.id), ["b"])
    let due = try queue.claim(seat, room: 9, at: now + 60_000)
    XCTAssertEqual(due.map(\.content.id), ["a"])
    XCTAssertEqual(due.map(\.deliveries), [2])
    XCTAssertEqual(due.map(\.answers), [1])
  }

  func testWhatWasNotSentIsNoDelivery() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    for _ in 1...9 {
      let got = try queue.claim(seat, room: 9, at: now)
      XCTAssertEqual(got.map(\.deliveries), [1])
      try queue.record([Verdict(got[0], [], .untouched)], by: seat, at: now)
    }
  }

  func testOfManyTokensOnlyTheOpenOnesComeAgain() throws {
    let queue = try open(place)
    _ = try queue.enqueue([many("m", 5)], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    try queue.record(
      [Verdict(got[0], [outcome(1), outcome(3, .rejected)], .held)], by: seat, at: now)
    try queue.leave(seat, saying: "gone", at: now)
    let again = try queue.claim(join(queue), room: 9, at: now)
    XCTAssertEqual(again.map(\.answered), [[1, 3]])
    XCTAssertEqual(try ends(queue), ["m/1 accepted", "m/3 rejected"])
  }

  /// Two workers have outcomes of one list, because one of them was taken for dead.
  func testOutcomesOfAListAreMergedWithThoseOfOthers() throws {
    let queue = try open(place)
    _ = try queue.enqueue([many("m", 70), entry("a")], at: now)
    let (one, other) = (try join(queue), try join(queue))
    let got = try queue.claim(one, room: 200, at: now)
    try queue.record([Verdict(got[0], [outcome(0)], .held)], by: one, at: now)
    XCTAssertTrue(try queue.renew(other, at: now + 2))
    XCTAssertEqual(try queue.reclaim(silentSince: now + 1, at: now), 2)
    let again = try queue.claim(other, room: 200, at: now)
    XCTAssertEqual(again.map(\.answered), [[0], []])
    try queue.record(
      [Verdict(again[0], [outcome(1), outcome(66)], .held)], by: other, at: now)
    // It knows nothing of these, and has a verdict of another entry that stands alone.
    try queue.record(
      [
        Verdict(got[0], [outcome(1, .rejected), outcome(2, .rejected), outcome(66, .dead)], .held),
        Verdict(got[1], [outcome()], .finished),
      ], by: one, at: now)
    // The same again, as if the answer to it had been lost.
    try queue.record([Verdict(again[0], [outcome(1), outcome(66)], .held)], by: other, at: now)
    let rest = (3..<66).map { outcome($0) } + [outcome(2), outcome(67), outcome(68), outcome(69)]
    try queue.record([Verdict(again[0], rest, .finished)], by: other, at: now)
    try queue.record([Verdict(got[0], rest, .finished)], by: one, at: now)
    let wanted =
      ["a/0 accepted"]
      + (0..<70).map { "m/\($0) \($0 == 2 ? "rejected" : "accepted")" }
    XCTAssertEqual(try ends(queue).sorted(), wanted.sorted())
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.held ?? 0, 0)
  }

  func testRoomCountsNotifications() throws {
    let queue = try open(place)
    _ = try queue.enqueue((1...10).map { many("m\($0)", 100) }, at: now)
    let seat = try join(queue)
    XCTAssertEqual(try queue.claim(seat, room: 350, at: now).count, 3)
    // One that is larger than the room comes alone: it would never come otherwise.
    XCTAssertEqual(try queue.claim(seat, room: 10, at: now).count, 1)
    XCTAssertEqual(try queue.claim(seat, room: 0, at: now).count, 0)
  }

  // MARK: Order

  private func device(_ id: String, _ token: String) -> NewEntry {
    NewEntry(app: "shop", id: id, token: token, payload: "{}")
  }

  private func inOrder(
    _ queue: any QueueEngine, _ seat: WorkerSeat, room: Int = 99, at: Int64? = nil
  )
    throws -> [Entry]
  { try queue.claim(seat, room: room, inOrder: true, at: at ?? now) }

  private func finish(_ queue: any QueueEngine, _ entries: [Entry], by seat: WorkerSeat) throws {
    let verdicts = entries.map { entry in
      let count = entry.content.tokens == nil ? 1 : 2
      return Verdict(entry, (0..<count).map { outcome($0) }, .finished)
    }
    try queue.record(verdicts, by: seat, at: now)
  }

  func testADeviceGetsOneAfterTheOther() throws {
    let queue = try open(place)
    let list = NewEntry(
      app: "shop", id: "both", tokens: "[{\"token\":\"00AA\"},\"00bb\"]", payload: "{}")
    _ = try queue.enqueue(
      [
        device("a1", "00aa"), device("b1", "00bb"), device("a2", "00AA"), list,
        device("a3", "00aa"),
        device("c1", "no hex"), device("c2", "NO HEX"),
      ], at: now)
    let (one, other) = (try join(queue), try join(queue))
    let first = try inOrder(queue, one)
    XCTAssertEqual(first.map(\.content.id), ["a1", "b1", "c1"])
    XCTAssertEqual(try inOrder(queue, other), [])
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.waiting, 4)
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.later, 0)
    try finish(queue, [first[1], first[2]], by: one)
    // The list waits for another of its devices too.
    let second = try inOrder(queue, other)
    XCTAssertEqual(second.map(\.content.id), ["c2"])
    try finish(queue, [first[0]], by: one)
    let third = try inOrder(queue, other)
    XCTAssertEqual(third.map(\.content.id), ["a2"])
    try finish(queue, third, by: other)
    let fourth = try inOrder(queue, one)
    XCTAssertEqual(fourth.map(\.content.id), ["both"])
    XCTAssertEqual(try inOrder(queue, one), [])
    try finish(queue, fourth, by: one)
    XCTAssertEqual(try inOrder(queue, one).map(\.content.id), ["a3"])
  }

  func testChannelsAreKeptInOrderToo() throws {
    let queue = try open(place)
    let all = [("1", "AQID"), ("2", "AQID"), ("3", "aqid")].map {
      NewEntry(app: "shop", id: $0, channel: $1, payload: "{}")
    }
    _ = try queue.enqueue(all, at: now)
    let seat = try join(queue)
    let got = try inOrder(queue, seat)
    XCTAssertEqual(got.map(\.content.id), ["1", "3"])
    try finish(queue, got, by: seat)
    XCTAssertEqual(try inOrder(queue, seat).map(\.content.id), ["2"])
  }

  func testWhatWaitsForATimeHoldsLaterOnesBack() throws {
    let queue = try open(place)
    _ = try queue.enqueue((1...3).map { device("\($0)", "00aa") }, at: now)
    let seat = try join(queue)
    let got = try inOrder(queue, seat)
    try queue.record(
      [Verdict(got[0], [], .later(at: now + 5000, isAnswered: true, story: "429"))], by: seat,
      at: now)
    XCTAssertEqual(try inOrder(queue, seat, at: now + 4000), [])
    let again = try inOrder(queue, seat, at: now + 5000)
    XCTAssertEqual(again.map(\.content.id), ["1"])
    // A dead letter lets the next one go, and so does one that a dead worker had in the end.
    try queue.record([Verdict(again[0], [], .dead(story: "no"))], by: seat, at: now)
    XCTAssertEqual(try inOrder(queue, seat).map(\.content.id), ["2"])
    try queue.leave(seat, saying: "gone", at: now)
    let other = try join(queue)
    let last = try inOrder(queue, other)
    XCTAssertEqual(last.map(\.content.id), ["2"])
    try finish(queue, last, by: other)
    XCTAssertEqual(try inOrder(queue, other).map(\.content.id), ["3"])
  }

  /// The option is taken back: nothing is left behind.
  func testWithoutOrderWhatWasHeldBackComesStill() throws {
    let queue = try open(place)
    _ = try queue.enqueue((1...3).map { device("\($0)", "00aa") }, at: now)
    let seat = try join(queue)
    for id in ["1", "2", "3"] {
      let got = try queue.claim(seat, room: 9, inOrder: id == "1", at: now)
      XCTAssertEqual(got.map(\.content.id), [id])
      try finish(queue, got, by: seat)
    }
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.waiting ?? 0, 0)
  }

  /// Whatever becomes of entries, no device has two under way, and each gets its own in their order.
  func testTheOrderHoldsWhateverHappens() throws {
    var random = SystemRandomNumberGenerator()
    let queue = try open(place)
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
    var seats = try (0..<3).map { _ in try join(queue) }
    var held: [[Entry]] = [[], [], []]
    var ended: [String: [String]] = [:]
    var time = now
    var turns = 0
    while ended.values.map(\.count).reduce(0, +) < expected.values.map(\.count).reduce(0, +) {
      turns += 1
      XCTAssertLessThan(turns, 20_000)
      if turns >= 20_000 { return }
      time += 100
      if turns % 7 == 0, let next = rest.popFirst() { _ = try queue.enqueue([next], at: time) }
      let one = Int.random(in: 0..<3, using: &random)
      held[one] += try inOrder(queue, seats[one], room: Int.random(in: 1...9), at: time)
      let underWay = held.flatMap { $0 }.flatMap { targets[$0.content.id]! }
      XCTAssertEqual(Set(underWay).count, underWay.count, "a device has two under way")
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        // It dies, and another one comes.
        try queue.leave(seats[one], saying: "gone", at: time)
        held[one] = []
        seats[one] = try join(queue)
      case 1, 2:
        guard let entry = held[one].popLast() else { continue }
        try queue.record(
          [Verdict(entry, [], .later(at: time + 300, isAnswered: true, story: "429"))],
          by: seats[one], at: time)
      case 3:
        guard let entry = held[one].popLast() else { continue }
        try queue.record([Verdict(entry, [], .untouched)], by: seats[one], at: time)
      default:
        guard !held[one].isEmpty else { continue }
        let entry = held[one].remove(at: Int.random(in: held[one].indices, using: &random))
        let own = targets[entry.content.id]!
        for token in own { ended[token, default: []].append(entry.content.id) }
        try queue.record(
          [Verdict(entry, own.indices.map { outcome($0) }, .finished)], by: seats[one], at: time)
      }
    }
    XCTAssertEqual(ended, expected)
  }

  // MARK: Connections of the fleet

  func testAFleetSharesItsConnections() throws {
    let queue = try open(place)
    let (one, other) = (try join(queue), try join(queue))
    func share(_ seat: WorkerSeat, has held: Int, isNeeded: Bool = false) throws -> Int? {
      try queue.shareConnections(seat, held: held, wanted: 3, isNeeded: isNeeded, of: 4)
    }
    XCTAssertEqual(try share(one, has: 0), 3)
    // What is promised or held is nobody else's, although the half of it would be.
    XCTAssertEqual(try share(other, has: 0), 1)
    XCTAssertEqual(try share(one, has: 3), 2)
    XCTAssertEqual(try share(other, has: 1), 1)
    XCTAssertEqual(try share(one, has: 2), 2)
    XCTAssertEqual(try share(other, has: 1), 2)
    try queue.leave(one, saying: "gone", at: now)
    XCTAssertEqual(try share(other, has: 2), 3)
    XCTAssertNil(try share(one, has: 2))
    // Another app has its own.
    let third = try queue.join(app: "other", named: "test", at: now)
    XCTAssertEqual(try share(third, has: 0), 3)
  }

  func testOneWithNotificationsInHandKeepsItsConnection() throws {
    let queue = try open(place)
    let seats = try (0..<3).map { _ in try join(queue) }
    func share(_ seat: Int, has held: Int, isNeeded: Bool) throws -> Int? {
      try queue.shareConnections(
        seats[seat], held: held, wanted: 1, isNeeded: isNeeded, of: 1)
    }
    XCTAssertEqual(try share(2, has: 0, isNeeded: false), 1)
    XCTAssertEqual(try share(2, has: 1, isNeeded: true), 1)
    XCTAssertEqual(try share(0, has: 0, isNeeded: false), 0)
    XCTAssertEqual(try share(2, has: 1, isNeeded: true), 1)
    // Once it has nothing in hand, another one's turn comes, when the connection is closed.
    XCTAssertEqual(try share(2, has: 1, isNeeded: false), 0)
    XCTAssertEqual(try share(0, has: 0, isNeeded: false), 0)
    XCTAssertEqual(try share(2, has: 0, isNeeded: false), 0)
    XCTAssertEqual(try share(0, has: 0, isNeeded: false), 1)
  }

  func testADeadLetterKeepsItsStory() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    for _ in 1...2 {
      let seat = try join(queue)
      _ = try queue.claim(seat, room: 9, at: now)
      _ = try queue.reclaim(silentSince: now + 1, at: now)
    }
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    XCTAssertEqual(got.map(\.deliveries), [3])
    try queue.record(
      [Verdict(got[0], [outcome(0, .dead)], .dead(story: "enough"))], by: seat, at: now)
    XCTAssertEqual(try queue.depths(at: now)["shop"]?.dead, 1)
    let story = try story(queue, of: "a")
    XCTAssertEqual(story.split(separator: "\n").count, 3, story)
    XCTAssertTrue(story.contains("fell silent"), story)
    XCTAssertTrue(story.hasSuffix("enough"), story)
    XCTAssertEqual(try ends(queue), ["a/0 dead"])
    XCTAssertEqual(try queue.enqueue([entry("a")], at: now), 0)
  }

  func testTheProviderTokenIsOneForAll() throws {
    let (one, other) = (try open(place), try open(place))
    var made = 0
    func ask(_ queue: any QueueEngine, _ time: Int64, key: String = "K") throws -> String {
      try queue.providerToken(
        team: "T", key: key, madeAfter: time - 1000, at: time, within: 5000
      ) {
        made += 1
        return SharedToken(text: "token \(made)", made: time)
      }.text
    }
    XCTAssertEqual(try ask(one, now), "token 1")
    XCTAssertEqual(try ask(other, now + 999), "token 1")
    XCTAssertEqual(try ask(other, now + 1001), "token 2")
    XCTAssertEqual(try ask(one, now + 1002), "token 2")
    XCTAssertEqual(try ask(one, now + 1002, key: "L"), "token 3")
    // The clock was set back.
    XCTAssertEqual(try ask(one, now - 5000), "token 4")
  }

  func testAProviderTokenIsAsOldAsItSays() throws {
    let queue = try open(place)
    func ask(_ time: Int64, _ text: String, made: Int64) throws -> SharedToken {
      try queue.providerToken(
        team: "T", key: "K", madeAfter: time - 1000, at: time, within: 5000
      ) { SharedToken(text: text, made: made) }
    }
    XCTAssertEqual(try ask(now, "a", made: now - 900), SharedToken(text: "a", made: now - 900))
    XCTAssertEqual(try ask(now + 50, "b", made: now), SharedToken(text: "a", made: now - 900))
    XCTAssertEqual(try ask(now + 200, "c", made: now), SharedToken(text: "c", made: now))
  }

  func testWhoeverMakesTheProviderTokenHoldsUpNobody() throws {
    let queue = try open(place)
    func ask(_ make: () throws -> SharedToken) throws -> SharedToken {
      try queue.providerToken(
        team: "T", key: "K", madeAfter: now - 1000, at: now, within: 5000, make: make)
    }
    // A failure is the caller's, and the next one tries.
    XCTAssertThrowsError(try ask { throw QueueFault(description: "no token today") }) {
      XCTAssertEqual("\($0)", "no token today")
    }
    let made = try ask {
      // Others work meanwhile, as another process does.
      let other = try self.open(self.place)
      XCTAssertEqual(try other.enqueue([self.entry("a")], at: self.now), 1)
      XCTAssertEqual(try other.claim(self.join(other), room: 9, at: self.now).count, 1)
      return SharedToken(text: "slow", made: self.now)
    }
    XCTAssertEqual(made.text, "slow")
    // One that died while it made one is waited for no longer than it may take.
    XCTAssertThrowsError(
      try queue.providerToken(
        team: "T", key: "K", madeAfter: now + 1000, at: now + 2000, within: 200
      ) {
        try queue.providerToken(
          team: "T", key: "K", madeAfter: self.now + 1000, at: self.now + 2000, within: 50
        ) { throw QueueFault(description: "two at the same time") }
      }
    ) { XCTAssertTrue("\($0)".contains("another relay has been making"), "\($0)") }
  }

  func testOutcomesAreTrimmedByAge() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    try queue.record([Verdict(got[0], [outcome()], .finished)], by: seat, at: now)
    try queue.record([Verdict(got[1], [outcome()], .finished)], by: seat, at: now + 10)
    XCTAssertEqual(try queue.trim(before: now + 5), 1)
    XCTAssertEqual(try ends(queue), ["b/0 accepted"])
  }

  func testOutcomesOfAnEntryThatIsUnderWayAreNotTrimmed() throws {
    let queue = try open(place)
    _ = try queue.enqueue([many("m", 3)], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    try queue.record([Verdict(got[0], [outcome(0)], .held)], by: seat, at: now)
    XCTAssertEqual(try queue.trim(before: now + 5), 0)
  }

  private func refuse(
    _ queue: any QueueEngine, _ id: String, _ token: String, since: Int64, at time: Int64
  ) throws {
    _ = try queue.enqueue([entry(id)], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    var outcome = PushOutcome(
      position: 0, token: WrittenToken(token), end: .rejected, reason: "BadDeviceToken")
    (outcome.httpStatus, outcome.refusedSince) = (400, since)
    try queue.record([Verdict(got[0], [outcome], .finished)], by: seat, at: time)
    try queue.leave(seat, saying: "done", at: now)
  }

  func testRefusedTokensAreRememberedInTheirOrder() throws {
    let (one, other) = (try open(place), try open(place))
    try refuse(one, "1", "aa", since: 5, at: now)
    try refuse(one, "2", "bb", since: 6, at: now)
    let first = try other.refused(app: "shop", behind: 0, most: 1)
    XCTAssertEqual(first.map(\.token), ["aa"])
    XCTAssertEqual(first.map(\.at), [now])
    let second = try other.refused(app: "shop", behind: first[0].number, most: 9)
    XCTAssertEqual(second.map(\.token), ["bb"])
    // Anew: it comes again, behind the others.
    try refuse(one, "3", "aa", since: 7, at: now + 9)
    let third = try other.refused(app: "shop", behind: second[0].number, most: 9)
    XCTAssertEqual(third.map(\.token), ["aa"])
    XCTAssertEqual(third.map(\.at), [now + 9])
    XCTAssertEqual(try other.refused(app: "shop", behind: third[0].number, most: 9), [])
    XCTAssertEqual(try other.refused(app: "news", behind: 0, most: 9), [])
  }

  func testTokensAreRefusedWithoutAnOutcomeToo() throws {
    let queue = try open(place)
    try queue.refuse(
      [GoneToken(token: "aa", since: 5), GoneToken(token: "bb", since: 4)], app: "shop", at: now)
    XCTAssertEqual(
      try queue.refused(app: "shop", behind: 0, most: 9).map(\.token), ["aa", "bb"])
    XCTAssertEqual(
      try queue.feedback(app: "shop", most: 9),
      [GoneToken(token: "bb", since: 4), GoneToken(token: "aa", since: 5)])
    XCTAssertEqual(try queue.feedback(app: "news", most: 9), [])
    XCTAssertEqual(
      try queue.feedback(app: "shop", most: 1), [GoneToken(token: "bb", since: 4)])
  }

  func testTheClockSetBackHidesNoRefusedToken() throws {
    let queue = try open(place)
    try refuse(queue, "1", "aa", since: 5, at: now)
    let last = try XCTUnwrap(queue.refused(app: "shop", behind: 0, most: 9).last)
    try refuse(queue, "2", "bb", since: 5, at: now - 60_000)
    XCTAssertEqual(
      try queue.refused(app: "shop", behind: last.number, most: 9).map(\.token), ["bb"])
  }

  func testRefusedTokensAreForgottenByAge() throws {
    let queue = try open(place)
    try refuse(queue, "1", "aa", since: 5, at: now)
    try refuse(queue, "2", "bb", since: 6, at: now + 10)
    XCTAssertEqual(try queue.forgetRefused(before: now + 10), 1)
    XCTAssertEqual(try queue.refused(app: "shop", behind: 0, most: 9).map(\.token), ["bb"])
    // What feedback has to tell waits for its reader.
    XCTAssertEqual(try queue.feedback(app: "shop", most: 9).map(\.token), ["aa", "bb"])
  }

  func testFeedbackIsForgottenAsItWasTold() throws {
    let queue = try open(place)
    try refuse(queue, "1", "aa", since: 5, at: now)
    try refuse(queue, "2", "bb", since: 6, at: now)
    let told = try queue.feedback(app: "shop", most: 9)
    XCTAssertEqual(
      told, [GoneToken(token: "aa", since: 5), GoneToken(token: "bb", since: 6)])
    // Refused again while the list is read, later, and another one earlier than it was.
    try refuse(queue, "3", "aa", since: 9, at: now)
    try refuse(queue, "4", "bb", since: 1, at: now)
    try queue.forgetFeedback(told, app: "news")
    try queue.forgetFeedback(told, app: "shop")
    XCTAssertEqual(try queue.feedback(app: "shop", most: 9), [GoneToken(token: "aa", since: 9)])
  }

  func testAnOutcomeWithoutThatRefusesNoToken() throws {
    let queue = try open(place)
    _ = try queue.enqueue([entry("a")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    try queue.record([Verdict(got[0], [outcome(0, .rejected)], .finished)], by: seat, at: now)
    XCTAssertEqual(try queue.refused(app: "shop", behind: 0, most: 9), [])
    XCTAssertEqual(try queue.feedback(app: "shop", most: 9), [])
  }

  func testTheLastAnswersAreTold() throws {
    let queue = try open(place)
    for number in 1...3 { try refuse(queue, "\(number)", "0\(number)", since: 1, at: now) }
    _ = try queue.enqueue([entry("a"), entry("b")], at: now)
    let seat = try join(queue)
    let got = try queue.claim(seat, room: 9, at: now)
    var good = outcome()
    good.httpStatus = 200
    // One that the service never saw is no answer.
    try queue.record(
      [Verdict(got[0], [good], .finished), Verdict(got[1], [outcome(0, .expired)], .finished)],
      by: seat, at: now)
    let answers = try queue.lastAnswers(app: "shop", most: 3)
    XCTAssertEqual(answers.last, RecordedAnswer(httpStatus: 200, reason: ""))
    XCTAssertEqual(answers.first, RecordedAnswer(httpStatus: 400, reason: "BadDeviceToken"))
    XCTAssertLessThanOrEqual(answers.count, 3)
    XCTAssertEqual(try queue.lastAnswers(app: "news", most: 3), [])
  }

  func testNotesAreForAllRelays() throws {
    let (one, other) = (try open(place), try open(place))
    XCTAssertNil(try one.note("n", app: "shop"))
    try one.setNote("n", "first", app: "shop")
    try other.setNote("n", "é", app: "shop")
    XCTAssertEqual(try one.note("n", app: "shop"), "é")
    XCTAssertNil(try one.note("n", app: "news"))
    try one.setNote("n", nil, app: "shop")
    XCTAssertNil(try other.note("n", app: "shop"))
  }

  func testManyWorkersShareWithoutTakingOneTwice() throws {
    let count = 2000
    let first = try open(place)
    _ = try first.enqueue((0..<count).map { entry("id-\($0)") }, at: now)
    let lock = NSLock()
    nonisolated(unsafe) var seen: [String] = []
    let (place, time) = (place, now)
    nonisolated(unsafe) let rules = self
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do {
        let queue = try rules.open(place)
        let seat = try queue.join(app: "shop", named: "test", at: time)
        while true {
          let got = try queue.claim(seat, room: 37, at: time)
          if got.isEmpty { break }
          lock.withLock { seen += got.map(\.content.id) }
          let outcome = PushOutcome(position: 0, token: "00", end: .accepted)
          try queue.record(got.map { Verdict($0, [outcome], .finished) }, by: seat, at: time)
        }
      } catch {
        XCTFail("\(error)")
      }
    }
    XCTAssertEqual(seen.count, count)
    XCTAssertEqual(Set(seen).count, count)
  }

  // MARK: What an engine shows of its inside

  func ends(_ queue: any QueueEngine) throws -> [String] { [] }
  func story(_ queue: any QueueEngine, of id: String) throws -> String { "" }
}
