import Foundation
import GRDB
import XCTest

@testable import Relay

final class SQLiteQueueTests: QueueRules {
  private var file: String { place + "/queue.db" }

  override func open(_ place: String) throws -> any QueueEngine {
    try SQLiteQueue(place + "/queue.db")
  }

  private func strings(_ sql: String) throws -> [String] {
    try DatabaseQueue(path: file).read { try String.fetchAll($0, sql: sql) }
  }

  override func ends(_ queue: any QueueEngine) throws -> [String] {
    try strings("SELECT id || '/' || position || ' ' || outcome FROM outcomes ORDER BY number")
  }

  override func story(_ queue: any QueueEngine, of id: String) throws -> String {
    try strings("SELECT story FROM dead WHERE id = '\(id)'").first ?? ""
  }

  func testAWorkerOfADeadProcessLosesItsEntriesAtOnce() throws {
    let queue = try open(place)
    _ = try queue.enqueue([NewEntry(app: "shop", id: "a", token: "00", payload: "{}")], at: now)
    var other: (any QueueEngine)? = try open(place)
    let seat = try other!.join(app: "shop", named: "other", at: now)
    XCTAssertEqual(try other!.claim(seat, room: 9, at: now).count, 1)
    XCTAssertEqual(try queue.reclaim(silentSince: 0, at: now), 0)
    // Its locks go with its open files, as those of a process do that is killed.
    other = nil
    XCTAssertEqual(try queue.reclaim(silentSince: 0, at: now), 1)
  }

  func testAProducerIsToldOfAWrongType() throws {
    let queue = try open(place)
    for values in [
      "'shop', 'a', '00', x'7b7d', NULL, NULL", "'shop', 'a', x'00', '{}', NULL, NULL",
      "'shop', 'a', '00', '{}', 'tomorrow', NULL", "'shop', 'a', '00', '{}', NULL, 1.5",
      "'shop', x'61', '00', '{}', NULL, NULL", "NULL, 'a', '00', '{}', NULL, NULL",
      "'shop', '', '00', '{}', NULL, NULL", "'shop', 'a', NULL, '{}', NULL, NULL",
    ] {
      let add = "INSERT INTO entries (app, id, token, payload, expiry, deadline) VALUES (\(values))"
      XCTAssertThrowsError(try DatabaseQueue(path: file).write { try $0.execute(sql: add) }, values)
    }
    XCTAssertEqual(
      try queue.claim(queue.join(app: "shop", named: "t", at: now), room: 9, at: now), [])
  }

  func testANewFileIsItsUsersAlone() throws {
    let before = umask(0)
    defer { umask(before) }
    let queue = try open(place)
    _ = try queue.enqueue([], at: now)
    for name in try FileManager.default.contentsOfDirectory(atPath: place) {
      var status = stat()
      XCTAssertEqual(stat("\(place)/\(name)", &status), 0)
      XCTAssertEqual(status.st_mode & 0o777, 0o600, name)
    }
  }

  func testAReaderKeepsOutcomes() throws {
    let queue = try open(place)
    _ = try queue.enqueue(
      (1...3).map { NewEntry(app: "shop", id: "\($0)", token: "00", payload: "{}") }, at: now)
    let seat = try queue.join(app: "shop", named: "test", at: now)
    let outcome = PushOutcome(position: 0, token: "00", end: .accepted)
    try queue.record(
      queue.claim(seat, room: 9, at: now).map { Verdict($0, [outcome], .finished) }, by: seat,
      at: now)
    try DatabaseQueue(path: file).write {
      try $0.execute(sql: "INSERT INTO readers VALUES ('reports', 1)")
    }
    XCTAssertEqual(try queue.trim(before: now + 1), 1)
    XCTAssertEqual(try ends(queue), ["2/0 accepted", "3/0 accepted"])
  }

  func testGoneDevicesKeepTheirLatestTime() throws {
    let queue = try open(place)
    _ = try queue.enqueue(
      ["a", "b"].map { NewEntry(app: "shop", id: $0, token: "00", payload: "{}") }, at: now)
    let seat = try queue.join(app: "shop", named: "test", at: now)
    for (entry, since) in zip(try queue.claim(seat, room: 9, at: now), [7, 5] as [Int64]) {
      var outcome = PushOutcome(position: 0, token: "00", end: .rejected, reason: "Unregistered")
      outcome.goneSince = since
      try queue.record([Verdict(entry, [outcome], .finished)], by: seat, at: now)
    }
    XCTAssertEqual(try strings("SELECT app || token || since FROM gone"), ["shop007"])
  }

  func testANewerQueueIsLeftAlone() throws {
    _ = try open(place)
    try DatabaseQueue(path: file).writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA user_version = 4")
    }
    XCTAssertThrowsError(try open(place)) { XCTAssertTrue("\($0)".contains("version 4"), "\($0)") }
  }

  func testWhatIsNoDatabaseIsSaid() throws {
    try String(repeating: "no database ", count: 100).write(
      toFile: file, atomically: true, encoding: .utf8)
    XCTAssertThrowsError(try open(place)) { XCTAssertTrue("\($0)".contains(file), "\($0)") }
  }

  func testPowerAsksForFullSynchronization() throws {
    XCTAssertNoThrow(try SQLiteQueue(file, durable: .power).check())
  }
}
