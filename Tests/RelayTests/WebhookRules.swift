import Testing

@testable import Relay

/// The relay that sends an app's outcomes, and the last delivered outcome, for each engine.
extension QueueRules {
  private static let leaseMS: Int64 = 1000

  /// A relay's.
  private final class Teller {
    var place: WebhookPlace

    init(_ queue: any QueueEngine) {
      place = WebhookPlace(queue, app: "shop", leaseMS: QueueRules.leaseMS)
    }

    func holds(at time: Int64) throws -> Bool { try place.hold(at: time) }
    func moves(to last: String) throws -> Bool { try place.move(to: last) }
    func begins(_ from: String, to last: String, at time: Int64) throws -> Bool {
      let page = OutcomePage(last: last, isEnd: true)
      return try place.begin(WebhookBatch(page, after: from, most: 9, end: nil), at: time)
    }
  }

  private func tell(_ queue: any QueueEngine, _ ids: [String]) throws {
    _ = try queue.enqueue(ids.map { entry($0) }, at: now)
    let workerID = try queue.join()
    let updates = try queue.claim(workerID, room: 99, at: now).map {
      EntryUpdate($0, [outcome(0, .accepted)], .finished)
    }
    try queue.record(updates, by: workerID, at: now)
    try queue.leave(workerID, line: "done", at: now)
  }

  @Test(arguments: Engine.here) func aReaderMovesFromItsPlace(_ engine: Engine) throws {
    let queue = try open(engine)
    #expect(try queue.lastOutcome(app: "shop") == "0")
    #expect(try queue.reader("one", app: "shop") == nil)
    try tell(queue, ["a"])
    let first = try queue.lastOutcome(app: "shop")
    #expect(try queue.moveReader("one", app: "shop", from: "7", to: first) == false)
    #expect(try queue.moveReader("one", app: "shop", from: nil, to: first))
    try tell(queue, ["b"])
    let second = try queue.lastOutcome(app: "shop")
    #expect(second != first)
    // It keeps what it has not read.
    #expect(try queue.trim(before: now + 100) == 1)
    #expect(try place.ends() == ["b/0 accepted"])
    #expect(try queue.moveReader("one", app: "shop", from: second, to: "9") == false)
    #expect(try queue.moveReader("one", app: "shop", from: nil, to: second) == false)
    #expect(try queue.moveReader("one", app: "shop", from: first, to: second))
    #expect(try queue.reader("one", app: "shop") == second)
    #expect(try queue.trim(before: now + 100) == 1)
    #expect(try queue.moveReader("one", app: "shop", from: second, to: nil))
    #expect(try queue.reader("one", app: "shop") == nil)
  }

  @Test(arguments: Engine.here) func oneRelayTells(_ engine: Engine) throws {
    let queue = try open(engine)
    try tell(queue, ["before"])
    let start = try queue.lastOutcome(app: "shop")
    let (one, other) = (Teller(queue), Teller(queue))
    #expect(try one.holds(at: 1))
    #expect(one.place.from == start)
    #expect(try other.holds(at: 1) == false)
    // While it renews, nobody else tells.
    for time in stride(from: Int64(200), to: 5000, by: 200) {
      #expect(try one.holds(at: time))
      #expect(try other.holds(at: time) == false)
    }
    #expect(try one.begins(start, to: "90", at: 5000))
    #expect(try one.moves(to: "50"))
    // It falls silent; the other one sees that for a lease, and continues with the same batch.
    #expect(try other.holds(at: 5000) == false)
    #expect(try other.holds(at: 5999) == false)
    #expect(try other.holds(at: 6000))
    #expect(
      other.place.from == "50" && other.place.end == "90" && other.place.mark == one.place.mark)
    // The first one was suspended: it neither begins a batch nor moves the reader.
    #expect(try one.begins("50", to: "91", at: 6000) == false)
    #expect(!one.place.isHeld)
    #expect(try other.moves(to: "90"))
    #expect(try one.moves(to: "60") == false)
    #expect(try one.holds(at: 6001) == false)
    #expect(try queue.reader(WebhookPlace.reader(of: "shop"), app: "shop") == "90")
    // A relay that leaves hands over.
    try other.place.leave()
    #expect(try one.holds(at: 6002))
    #expect(one.place.from == "90")
  }

  @Test(arguments: Engine.here) func aRemovedWebhookEnds(_ engine: Engine) throws {
    let queue = try open(engine)
    #expect(try WebhookPlace.forget(queue, app: "shop", unchanged: nil) == nil)
    let one = Teller(queue)
    #expect(try one.holds(at: 1))
    let first = try WebhookPlace.forget(queue, app: "shop", unchanged: nil)
    #expect(first != nil)
    // A relay still has it.
    #expect(try one.holds(at: 500))
    let second = try WebhookPlace.forget(queue, app: "shop", unchanged: first)
    #expect(second != nil && second != first)
    #expect(try WebhookPlace.forget(queue, app: "shop", unchanged: second) == nil)
    #expect(try queue.reader(WebhookPlace.reader(of: "shop"), app: "shop") == nil)
    // Another one later begins anew, with another mark.
    let mark = one.place.mark
    let next = Teller(queue)
    #expect(try next.holds(at: 1))
    #expect(next.place.mark != mark)
  }
}

@Suite struct WebhookBatchTests {
  private func page(_ numbers: [String]) -> OutcomePage {
    let rows = numbers.enumerated().map { index, number in
      OutcomeRow(
        number: number, id: "\(index)", deliveries: 1, at: 0,
        outcome: PushOutcome(position: 0, token: "ab", kind: .accepted))
    }
    return OutcomePage(rows: rows, last: numbers.last ?? "0", isEnd: true)
  }

  private func batch(_ numbers: [String], _ from: String, _ most: Int, _ end: String?) -> [String] {
    let batch = WebhookBatch(page(numbers), after: from, most: most, end: end)
    return batch.rows.map(\.number) + ["to \(batch.last)"]
  }

  @Test func aBatchIsCut() {
    #expect(batch(["1", "2", "3"], "0", 9, nil) == ["1", "2", "3", "to 3"])
    #expect(batch(["8", "9", "10"], "7", 2, nil) == ["8", "9", "to 9"])
    // Outcomes with the same number in Redis stay together.
    #expect(batch(["5-1", "5-1", "5-10"], "0", 1, nil) == ["5-1", "5-1", "to 5-1"])
    // It was begun with fewer.
    #expect(batch(["5-1", "5-9", "5-10"], "0", 9, "5-9") == ["5-1", "5-9", "to 5-9"])
    #expect(batch(["9", "10", "11"], "8", 1, "10") == ["9", "10", "to 10"])
    // A batch ends at its last outcome even if that was trimmed; an end before the batch is ignored.
    #expect(batch(["9", "11"], "8", 9, "10") == ["9", "to 10"])
    #expect(batch(["9", "11"], "8", 9, "8") == ["9", "11", "to 11"])
    #expect(batch(["9"], "8", 9, "12") == ["9", "to 9"])
    #expect(batch([], "0", 9, "12") == ["to 0"])
  }

  @Test func theRestFollows() {
    let all = page(["5-1", "5-1", "5-2", "5-10"])
    let first = WebhookBatch(all, after: "0", most: 1, end: nil)
    #expect(first.rest(of: all)?.rows.map(\.number) == ["5-2", "5-10"])
    #expect(WebhookBatch(all, after: "0", most: 9, end: nil).rest(of: all) == nil)
  }

  @Test func theSignatureIsThatOfStandardWebhooks() {
    let batch = WebhookBatch(page(["1"]), after: "0", most: 1, end: nil)
    let message = WebhookMessage(batch, app: "shop", mark: "m")
    #expect(message.id == WebhookMessage(batch, app: "shop", mark: "m").id)
    #expect(message.id != WebhookMessage(batch, app: "shop", mark: "n").id)
    let fields = message.fields(at: 1_700_000_000, [Array(repeating: 1, count: 32), [2]])
    #expect(
      fields.map(\.name) == [
        "content-type", "webhook-id", "webhook-timestamp", "webhook-signature",
      ])
    #expect(fields[2].value == "1700000000")
    #expect(
      fields[3].value.split(separator: " ").allSatisfy { $0.hasPrefix("v1,") && $0.count == 47 })
  }
}
