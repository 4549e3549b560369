import Foundation
import GRDB
import Logging
import Synchronization
import Testing

@testable import Relay

/// The parts that the listeners share: enqueueing, and waiting for outcomes.
@Suite struct ListenerQueueTests {
  private let place: SQLitePlace

  init() throws { place = try SQLitePlace() }

  private static func entry(_ id: String, token: String = "5f79cfda") -> NewEntry {
    NewEntry(app: "shop", id: id, token: token, payload: "{\"aps\":{}}")
  }

  private func outcome(_ token: String = "5f79cfda") -> PushOutcome {
    var outcome = PushOutcome(position: 0, token: WrittenToken(token), kind: .accepted)
    outcome.httpStatus = 200
    return outcome
  }

  @Test func allThatIsGivenIsInTheQueueWhenItIsSaid() throws {
    let engine = try place.open()
    let queue = ListenerQueue(engine, log: Logger(label: "listeners"))
    queue.start()
    let taken = Mutex(0)
    let count = 3000
    DispatchQueue.concurrentPerform(iterations: 8) { part in
      for number in 0..<count / 8 {
        queue.add([Self.entry("\(part)-\(number)")]) { taking in
          guard (try? taking.get().isNew) == true else { return }
          taken.withLock { $0 += 1 }
        }
      }
    }
    queue.end()
    #expect(taken.withLock { $0 } == count)
    #expect(try engine.depths(at: RelayClock.now)["shop"]?.ready == count)
  }

  @Test func aWholeBatchKnowsWhatWasAdded() throws {
    let queue = ListenerQueue(try place.open(), log: Logger(label: "listeners"))
    let said = Mutex<[String: Int]>([:])
    func add(_ name: String, _ ids: [String]) {
      queue.add(ids.map { Self.entry($0) }, isWhole: true) { taking in
        said.withLock { $0[name] = (try? taking.get().added) ?? -1 }
      }
    }
    // All are given before the queue starts. Entries that belong to no batch share a transaction.
    queue.add([Self.entry("a")]) { _ in }
    add("first", ["a", "b", "c"])
    add("second", ["c", "d", "d"])
    queue.add([Self.entry("e")]) { _ in }
    add("third", ["a", "e"])
    add("bad", ["f", ""])
    queue.start()
    queue.end()
    #expect(said.withLock { $0 } == ["first": 2, "second": 1, "third": 0, "bad": -1])
  }

  @Test func oneBadSubmissionHarmsNoOther() throws {
    let engine = try place.open()
    // An error that only the engine finds: one entry makes a whole transaction fail.
    try DatabaseQueue(path: place.file).write {
      try $0.execute(
        sql: """
          CREATE TRIGGER bad BEFORE INSERT ON entries WHEN NEW.id = 'bad'
          BEGIN SELECT RAISE(ABORT, 'bad'); END
          """)
    }
    let queue = ListenerQueue(engine, log: Logger(label: "listeners"))
    let said = Mutex<[String: String]>([:])
    // All are given before the queue starts, so that they share one transaction.
    for (name, ids) in [
      ("good", ["a", "b"]), ("bad", ["c", "bad"]), ("again", ["a"]), ("other", ["e"]),
    ] {
      queue.add(ids.map { Self.entry($0) }) { taking in
        let text =
          switch taking {
          case .success(let taken): taken.isNew ? "new" : "known"
          case .failure: "failed"
          }
        said.withLock { $0[name] = text }
      }
    }
    queue.start()
    queue.end()
    #expect(
      said.withLock { $0 } == ["good": "new", "bad": "failed", "again": "known", "other": "new"])
    #expect(try engine.depths(at: RelayClock.now)["shop"]?.ready == 3)
  }

  @Test func whatCannotBeAnEntryIsSaidAtOnce() throws {
    let queue = ListenerQueue(try place.open(), log: Logger(label: "listeners"))
    let said = Mutex<[String]>([])
    for entry in [
      NewEntry(app: "shop", id: "d", payload: "{}"), Self.entry(""), Self.entry("a\0b"),
    ] {
      queue.add([entry]) { taking in
        if case .failure(let error) = taking { said.withLock { $0.append("\(error)") } }
      }
    }
    #expect(said.withLock { $0.count } == 3)
  }

  @Test func afterItsEndNothingIsTaken() throws {
    let queue = ListenerQueue(try place.open(), log: Logger(label: "listeners"))
    queue.start()
    queue.end()
    let isFailed = Mutex(false)
    queue.add([Self.entry("a")]) { if case .failure = $0 { isFailed.withLock { $0 = true } } }
    #expect(isFailed.withLock { $0 })
  }

  // MARK: Waiting for outcomes

  private final class Told: Sendable {
    let ends = Mutex<[String]>([])
    let news = DispatchSemaphore(value: 0)

    func report(_ end: OutcomeWaits.End) {
      let text =
        switch end {
        case .outcome(let outcome): outcome.kind.rawValue
        case .isAnothers: "another's"
        case .none: "none"
        }
      ends.withLock { $0.append(text) }
      news.signal()
    }

    func wait() -> [String] {
      #expect(news.wait(timeout: .now() + 60) == .success)
      return ends.withLock { $0 }
    }
  }

  private func update(_ id: String, _ outcome: PushOutcome) -> EntryUpdate {
    EntryUpdate(
      Entry(number: 1, content: Self.entry(id), deliveries: 1, deferrals: 0, resolved: []),
      [outcome],
      .finished)
  }

  @Test func aWorkerTellsBeforeTheEntryIsKnownToBeQueued() throws {
    let waits = OutcomeWaits(try place.open())
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.report($0) }
    waits.report([update("a", outcome())])
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 60_000)
    #expect(told.wait() == ["accepted"])
    #expect(waits.count == 0)
  }

  @Test func theOutcomeOfAnotherRelayIsFound() throws {
    let engine = try place.open()
    let waits = OutcomeWaits(engine)
    waits.start()
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.report($0) }
    _ = try engine.enqueue([Self.entry("a")], at: RelayClock.now)
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 60_000)
    let other = try place.open()
    let workerID = try other.join(app: "shop", named: "other", at: RelayClock.now)
    let claimed = try other.claim(workerID, room: 1, at: RelayClock.now)
    try other.record(
      [EntryUpdate(claimed[0], [outcome()], .finished)], by: workerID, at: RelayClock.now)
    #expect(told.wait() == ["accepted"])
    waits.end()
  }

  @Test func aKnownIDOfAnotherDevice() throws {
    let engine = try place.open()
    let waits = OutcomeWaits(engine)
    waits.start()
    _ = try engine.enqueue([Self.entry("a", token: "00")], at: RelayClock.now)
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.report($0) }
    waits.queued(app: "shop", id: "a", number, isNew: false, forMS: 60_000)
    #expect(told.wait() == ["another's"])
    waits.end()
  }

  @Test func aKnownIDWaitsAsLongAsANewOne() throws {
    let engine = MemoryQueue()
    _ = try engine.enqueue([Self.entry("a")], at: RelayClock.now)
    let waits = OutcomeWaits(engine)
    waits.start()
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.report($0) }
    waits.queued(app: "shop", id: "a", number, isNew: false, forMS: 1)
    #expect(told.wait() == ["none"])
    // Lookups are 500 ms apart.
    #expect(engine.lookups.load(ordering: .relaxed) <= 2)
    waits.end()
  }

  @Test func aThreadThatSleepsIsWoken() throws {
    let waits = OutcomeWaits(try place.open())
    waits.start()
    for round in 1...20 {
      let limit = Date().addingTimeInterval(60)
      while !waits.isResting.load(ordering: .sequentiallyConsistent), Date() < limit { usleep(100) }
      let told = Told()
      let number = waits.wait(app: "shop", id: "\(round)", target: "") { told.report($0) }
      waits.queued(app: "shop", id: "\(round)", number, isNew: true, forMS: 1)
      guard told.wait() == ["none"] else {
        Issue.record("nobody looked in round \(round)")
        return
      }
    }
    waits.end()
  }

  @Test func nobodyWaitsForEver() throws {
    let waits = OutcomeWaits(try place.open())
    waits.start()
    let (late, rest, lost) = (Told(), Told(), Told())
    let number = waits.wait(app: "shop", id: "a", target: "") { late.report($0) }
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 1)
    #expect(late.wait() == ["none"])
    // A wait for an entry that was not queued gets no result.
    let gone = waits.wait(app: "shop", id: "b", target: "") { lost.report($0) }
    #expect(waits.forget(app: "shop", id: "b", gone))
    #expect(!waits.forget(app: "shop", id: "b", gone))
    let last = waits.wait(app: "shop", id: "c", target: "") { rest.report($0) }
    waits.queued(app: "shop", id: "c", last, isNew: true, forMS: 600_000)
    waits.end()
    #expect(rest.wait() == ["none"])
    #expect(lost.ends.withLock { $0 } == [])
  }
}
