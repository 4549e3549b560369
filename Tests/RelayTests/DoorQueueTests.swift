import Foundation
import GRDB
import Logging
import Synchronization
import XCTest

@testable import Relay

/// What the doors share: how they put things into the queue, and how they learn what became of them.
final class DoorQueueTests: XCTestCase {
  private var place = ""

  override func setUpWithError() throws {
    place = FileManager.default.temporaryDirectory.path + "/queue-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
  }

  override func tearDown() { try? FileManager.default.removeItem(atPath: place) }

  private func open() throws -> SQLiteQueue { try SQLiteQueue(place + "/queue.db") }

  private static func entry(_ id: String, token: String = "5f79cfda") -> NewEntry {
    NewEntry(app: "shop", id: id, token: token, payload: "{\"aps\":{}}")
  }

  private func outcome(_ token: String = "5f79cfda") -> PushOutcome {
    var outcome = PushOutcome(position: 0, token: WrittenToken(token), end: .accepted)
    outcome.httpStatus = 200
    return outcome
  }

  func testAllThatIsGivenIsInTheQueueWhenItIsSaid() throws {
    let engine = try open()
    let queue = DoorQueue(engine, log: Logger(label: "doors"))
    queue.start()
    let taken = Mutex(0)
    let count = 3000
    DispatchQueue.concurrentPerform(iterations: 8) { part in
      for number in 0..<count / 8 {
        queue.add([Self.entry("\(part)-\(number)")]) { taking in
          guard case .taken(true) = taking else { return }
          taken.withLock { $0 += 1 }
        }
      }
    }
    queue.end()
    XCTAssertEqual(taken.withLock { $0 }, count)
    XCTAssertEqual(try engine.depths(at: RelayClock.now)["shop"]?.waiting, count)
  }

  func testOneBadSubmissionHarmsNoOther() throws {
    let engine = try open()
    // What only the engine sees: a whole transaction fails by one entry.
    try DatabaseQueue(path: place + "/queue.db").write {
      try $0.execute(
        sql: """
          CREATE TRIGGER bad BEFORE INSERT ON entries WHEN NEW.id = 'bad'
          BEGIN SELECT RAISE(ABORT, 'bad'); END
          """)
    }
    let queue = DoorQueue(engine, log: Logger(label: "doors"))
    let said = Mutex<[String: String]>([:])
    // They are given before it begins, so that they come into one transaction.
    for (name, ids) in [
      ("good", ["a", "b"]), ("bad", ["c", "bad"]), ("again", ["a"]), ("other", ["e"]),
    ] {
      queue.add(ids.map { Self.entry($0) }) { taking in
        let text =
          switch taking {
          case .taken(let isNew): isNew ? "new" : "known"
          case .failed: "failed"
          }
        said.withLock { $0[name] = text }
      }
    }
    queue.start()
    queue.end()
    XCTAssertEqual(
      said.withLock { $0 }, ["good": "new", "bad": "failed", "again": "known", "other": "new"])
    XCTAssertEqual(try engine.depths(at: RelayClock.now)["shop"]?.waiting, 3)
  }

  func testWhatCannotBeAnEntryIsSaidAtOnce() throws {
    let queue = DoorQueue(try open(), log: Logger(label: "doors"))
    let said = Mutex<[String]>([])
    for entry in [
      NewEntry(app: "shop", id: "d", payload: "{}"), Self.entry(""), Self.entry("a\0b"),
    ] {
      queue.add([entry]) { taking in
        if case .failed(let error) = taking { said.withLock { $0.append("\(error)") } }
      }
    }
    XCTAssertEqual(said.withLock { $0.count }, 3)
  }

  func testAfterItsEndNothingIsTaken() throws {
    let queue = DoorQueue(try open(), log: Logger(label: "doors"))
    queue.start()
    queue.end()
    let isFailed = Mutex(false)
    queue.add([Self.entry("a")]) { if case .failed = $0 { isFailed.withLock { $0 = true } } }
    XCTAssertTrue(isFailed.withLock { $0 })
  }

  // MARK: Waiting for outcomes

  private final class Told: Sendable {
    let ends = Mutex<[String]>([])
    let news = DispatchSemaphore(value: 0)

    func tell(_ end: OutcomeWaits.End) {
      let text =
        switch end {
        case .outcome(let outcome): outcome.end.rawValue
        case .isAnothers: "another's"
        case .none: "none"
        }
      ends.withLock { $0.append(text) }
      news.signal()
    }

    func wait() -> [String] {
      XCTAssertEqual(news.wait(timeout: .now() + 60), .success)
      return ends.withLock { $0 }
    }
  }

  private func verdict(_ id: String, _ outcome: PushOutcome) -> Verdict {
    Verdict(
      Entry(number: 1, content: Self.entry(id), deliveries: 1, answers: 0, answered: []), [outcome],
      .finished)
  }

  func testAWorkerTellsBeforeTheEntryIsKnownToBeQueued() throws {
    let waits = OutcomeWaits(try open())
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.tell($0) }
    waits.tell([verdict("a", outcome())])
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 60_000)
    XCTAssertEqual(told.wait(), ["accepted"])
    XCTAssertEqual(waits.count, 0)
  }

  func testTheOutcomeOfAnotherRelayIsFound() throws {
    let engine = try open()
    let waits = OutcomeWaits(engine)
    waits.start()
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.tell($0) }
    _ = try engine.enqueue([Self.entry("a")], at: RelayClock.now)
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 60_000)
    let other = try open()
    let seat = try other.join(app: "shop", named: "other", at: RelayClock.now)
    let claimed = try other.claim(seat, room: 1, at: RelayClock.now)
    try other.record([Verdict(claimed[0], [outcome()], .finished)], by: seat, at: RelayClock.now)
    XCTAssertEqual(told.wait(), ["accepted"])
    waits.end()
  }

  func testAKnownIDOfAnotherDevice() throws {
    let engine = try open()
    let waits = OutcomeWaits(engine)
    waits.start()
    _ = try engine.enqueue([Self.entry("a", token: "00")], at: RelayClock.now)
    let told = Told()
    let number = waits.wait(app: "shop", id: "a", target: "5f79cfda") { told.tell($0) }
    waits.queued(app: "shop", id: "a", number, isNew: false, forMS: 60_000)
    XCTAssertEqual(told.wait(), ["another's"])
    waits.end()
  }

  func testAThreadThatSleepsIsWoken() throws {
    let waits = OutcomeWaits(try open())
    waits.start()
    for round in 1...20 {
      let limit = Date().addingTimeInterval(60)
      while !waits.isResting.load(ordering: .sequentiallyConsistent), Date() < limit { usleep(100) }
      let told = Told()
      let number = waits.wait(app: "shop", id: "\(round)", target: "") { told.tell($0) }
      waits.queued(app: "shop", id: "\(round)", number, isNew: true, forMS: 1)
      guard told.wait() == ["none"] else { return XCTFail("nobody looked in round \(round)") }
    }
    waits.end()
  }

  func testNobodyWaitsForEver() throws {
    let waits = OutcomeWaits(try open())
    waits.start()
    let (late, rest, lost) = (Told(), Told(), Told())
    let number = waits.wait(app: "shop", id: "a", target: "") { late.tell($0) }
    waits.queued(app: "shop", id: "a", number, isNew: true, forMS: 1)
    XCTAssertEqual(late.wait(), ["none"])
    // What is not in the queue is not told that it is.
    let gone = waits.wait(app: "shop", id: "b", target: "") { lost.tell($0) }
    XCTAssertTrue(waits.forget(app: "shop", id: "b", gone))
    XCTAssertFalse(waits.forget(app: "shop", id: "b", gone))
    let last = waits.wait(app: "shop", id: "c", target: "") { rest.tell($0) }
    waits.queued(app: "shop", id: "c", last, isNew: true, forMS: 600_000)
    waits.end()
    XCTAssertEqual(rest.wait(), ["none"])
    XCTAssertEqual(lost.ends.withLock { $0 }, [])
  }
}
