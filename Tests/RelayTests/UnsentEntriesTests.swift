import Testing

@testable import Relay

/// The order in which a worker sends what it holds.
@Suite struct UnsentEntriesTests {
  private var unsent = UnsentEntries()

  private mutating func add(_ lane: Lane, _ count: Int = 1) {
    let tokens = (0..<count).map { _ in "\"00\"" }.joined(separator: ",")
    let content = NewEntry(
      app: "shop", id: "\(lane)", tokens: "[\(tokens)]", payload: "{}", lane: lane)
    unsent.append(
      HeldEntry(Entry(number: 1, content: content, deliveries: 1, deferrals: 0, resolved: [])))
  }

  /// Sends up to `count` notifications, and returns how many are of each lane.
  private mutating func send(_ count: Int) -> [Lane: Int] {
    var (left, sent) = (count, [Lane: Int]())
    while left > 0, let (held, turns) = unsent.next {
      let part = min(left, turns, held.count - held.cursor)
      held.cursor += part
      left -= part
      sent[held.lane, default: 0] += part
      unsent.sent(part)
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

  @Test mutating func allAreReturned() {
    for lane in Lane.allCases { add(lane) }
    #expect(unsent.removeAll().map(\.lane) == Lane.allCases)
    #expect(unsent.isEmpty && !unsent.hasUrgent)
  }
}
