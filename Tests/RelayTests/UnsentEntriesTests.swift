import Testing

@testable import Relay

/// The order in which a worker sends what it holds.
@Suite struct UnsentEntriesTests {
  private let unsent = UnsentEntries()

  private mutating func add(
    _ lane: Lane, _ count: Int = 1, id: String? = nil, of bucket: String = ""
  ) {
    let tokens = (0..<count).map { _ in "\"00\"" }.joined(separator: ",")
    let content = NewEntry(
      app: "shop", id: id ?? "\(lane)", tokens: "[\(tokens)]", payload: "{}", lane: lane)
    let held = HeldEntry(
      Entry(number: 1, content: content, deliveries: 1, deferrals: 0, resolved: []))
    held.bucket = bucket
    unsent.append(held)
  }

  /// Sends up to `count` notifications, and returns how many are of each lane.
  private mutating func send(_ count: Int) -> [Lane: Int] {
    var (left, sent) = (count, [Lane: Int]())
    while left > 0, let (held, turns) = unsent.next {
      let part = min(left, turns, held.count - held.cursor)
      held.cursor += part
      left -= part
      sent[held.lane, default: 0] += part
      unsent.sent(part, passed: part, of: held)
      if held.cursor == held.count { unsent.removeFirst(of: held.lane) }
    }
    return sent
  }

  @Test mutating func aLaneAloneHasAllTurns() {
    add(.bulk, 1000)
    #expect(unsent.next?.turns == .max)
    #expect(send(500) == [.bulk: 500])
  }

  @Test mutating func theUrgentComeFirst() {
    for lane in Lane.allCases.reversed() { add(lane, 1000) }
    #expect(unsent.hasUrgent)
    #expect(send(14) == [.urgent: 14])
    #expect(send(2) == [.normal: 1, .bulk: 1])
    #expect(send(320) == [.urgent: 280, .normal: 20, .bulk: 20])
  }

  /// In any course, each waiting lane has one of sixteen.
  @Test(arguments: [[Lane.urgent, .normal], [.urgent, .bulk], [.normal, .bulk], Lane.allCases])
  mutating func noLaneStarves(_ lanes: [Lane]) {
    for lane in lanes { add(lane, 1000) }
    for _ in 0..<20 {
      let sent = send(Lane.share)
      #expect(lanes.dropFirst().allSatisfy { sent[$0] == 1 }, "\(sent)")
    }
  }

  @Test mutating func whatIsSentIsReleasedWhileOthersWait() {
    for _ in 0..<3 { add(.bulk, 500) }
    weak let first = unsent.next?.held
    #expect(first != nil)
    #expect(send(1000) == [.bulk: 1000])
    #expect(first == nil && !unsent.isEmpty)
  }

  @Test mutating func onlyTheMeantAreRemoved() {
    for lane in Lane.allCases { for count in 1...3 { add(lane, count) } }
    unsent.removeFirst(of: .bulk)
    let removed = unsent.remove { $0.count == 2 || $0.lane == .urgent }
    #expect(removed.map(\.count) == [1, 2, 3, 2, 2])
    #expect(!unsent.hasUrgent)
    #expect(unsent.removeAll().map(\.count) == [1, 3, 3])
  }

  @Test mutating func allAreReturned() {
    for lane in Lane.allCases { add(lane) }
    for lane in Lane.allCases { add(lane, of: "sale") }
    add(.urgent, of: "news")
    unsent.block("")
    #expect(
      unsent.removeAll().map(\.lane) == [.urgent, .urgent, .urgent] + [.normal, .normal] + [
        .bulk, .bulk,
      ])
    #expect(unsent.isEmpty && !unsent.hasUrgent && unsent.count == 0)
  }

  @Test mutating func theyAreCounted() {
    for lane in Lane.allCases { add(lane, 10) }
    #expect(unsent.count == 30)
    _ = send(7)
    #expect(unsent.count == 23)
    unsent.block("")
    #expect(unsent.count == 23 && !unsent.isEmpty)
  }

  /// Sends the first `count` notifications of the first lane, and returns their IDs.
  private mutating func ids(_ count: Int) -> [String] {
    (0..<count).compactMap { _ in
      let held = unsent.next?.held
      _ = send(1)
      return held?.entry.content.id
    }
  }

  @Test mutating func anEntryWithoutTokensIsOvertaken() {
    for (id, bucket) in ["a": "sale", "b": "", "c": "sale", "d": "news", "e": "", "f": "sale"]
      .sorted(by: { $0.key < $1.key })
    {
      add(.normal, id: id, of: bucket)
    }
    unsent.block("sale")
    #expect(ids(2) == ["b", "d"])
    unsent.block("")
    #expect(unsent.next == nil && unsent.count == 4)
    // The entries of a bucket stay in their order, also behind new ones of others.
    unsent.unblock()
    add(.normal, id: "g", of: "sale")
    #expect(ids(1) == ["a"])
    unsent.block("sale")
    add(.normal, id: "h")
    #expect(ids(2) == ["e", "h"])
    unsent.unblock()
    #expect(ids(9) == ["c", "f", "g"])
    #expect(unsent.isEmpty)
  }

  @Test mutating func aBlockedLaneLeavesItsTurnsToOthers() {
    add(.urgent, 100, of: "sale")
    add(.normal, 100)
    add(.bulk, 100)
    unsent.block("sale")
    #expect(!unsent.hasUrgent)
    #expect(send(Lane.share) == [.normal: 15, .bulk: 1])
    unsent.unblock()
    #expect(unsent.hasUrgent)
    #expect(send(Lane.share) == [.urgent: 14, .normal: 1, .bulk: 1])
  }
}
