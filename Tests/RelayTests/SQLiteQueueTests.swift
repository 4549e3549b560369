import Foundation
import GRDB
import Testing

@testable import Relay

@Suite struct SQLiteQueueTests {
  private let now = QueueRules.now
  private let place: SQLitePlace

  init() throws { place = try SQLitePlace() }

  @Test func aWorkerOfADeadProcessLosesItsEntriesAtOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue([NewEntry("a")], at: now)
    var other: (any QueueEngine)? = try place.open()
    let workerID = try other!.join()
    #expect(try other!.claim(workerID, room: 9, at: now).count == 1)
    #expect(try queue.reclaim(silentSince: 0, at: now) == 0)
    // Its locks end with its open files, as those of a killed process do.
    other = nil
    #expect(try queue.reclaim(silentSince: 0, at: now) == 1)
  }

  @Test func aProducerIsToldOfAWrongType() throws {
    let queue = try place.open()
    for values in [
      "'shop', 'a', '00', x'7b7d', NULL, NULL", "'shop', 'a', x'00', '{}', NULL, NULL",
      "'shop', 'a', '00', '{}', 'tomorrow', NULL", "'shop', 'a', '00', '{}', NULL, 1.5",
      "'shop', x'61', '00', '{}', NULL, NULL", "NULL, 'a', '00', '{}', NULL, NULL",
      "'shop', '', '00', '{}', NULL, NULL", "'shop', 'a', NULL, '{}', NULL, NULL",
    ] {
      let add = "INSERT INTO entries (app, id, token, payload, expiry, deadline) VALUES (\(values))"
      #expect(throws: (any Error).self, "\(values)") {
        try DatabaseQueue(path: place.file).write { try $0.execute(sql: add) }
      }
    }
    #expect(try queue.claim(queue.join(), room: 9, at: now) == [])
  }

  @Test func aNewFileIsItsUsersAlone() throws {
    let before = umask(0)
    defer { umask(before) }
    let queue = try place.open()
    _ = try queue.enqueue([], at: now)
    for name in try FileManager.default.contentsOfDirectory(atPath: place.directory.path) {
      var status = stat()
      #expect(stat("\(place.directory.path)/\(name)", &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600, "\(name)")
    }
  }

  @Test func aReaderKeepsOutcomes() throws {
    let queue = try place.open()
    _ = try queue.enqueue((1...3).map { NewEntry("\($0)") }, at: now)
    let workerID = try queue.join()
    try queue.record(queue.claim(workerID, room: 9, at: now).accepted, by: workerID, at: now)
    try DatabaseQueue(path: place.file).write {
      try $0.execute(sql: "INSERT INTO readers VALUES ('reports', 1)")
    }
    #expect(try queue.trim(before: now + 1) == 1)
    #expect(try place.ends() == ["2/0 accepted", "3/0 accepted"])
  }

  /// Producers use plain SQL, and so do operators.
  @Test func anIDIsKnownAsLongAsItsEntryOrAnOutcome() throws {
    let queue = try place.open()
    func add(_ id: String) throws -> Int {
      try DatabaseQueue(path: place.file).write {
        try $0.execute(
          sql: """
            INSERT OR IGNORE INTO entries (app, id, token, payload)
            VALUES ('shop', CAST(\(id) AS TEXT), '00', '{}')
            """)
        return $0.changesCount
      }
    }
    func finish(_ kind: PushOutcome.Kind = .accepted) throws {
      let workerID = try queue.join()
      var outcome = PushOutcome(position: 0, token: "00", kind: kind)
      if kind == .accepted { outcome.httpStatus = 200 }
      try queue.record(
        queue.claim(workerID, room: 9, at: now).map { EntryUpdate($0, [outcome], .finished) },
        by: workerID, at: now)
    }
    #expect(try add("'a'") == 1)
    #expect(try add("'a'") == 0)
    try place.write("DELETE FROM entries")
    #expect(try add("'a'") == 1)
    try finish()
    #expect(try add("'a'") == 0)
    #expect(try place.strings("SELECT id FROM ids") == ["a"])
    try place.write("DELETE FROM outcomes")
    #expect(try add("'a'") == 1)
    try finish()
    #expect(try queue.trim(before: now + 1) == 1)
    #expect(try place.strings("SELECT id FROM ids") == [])
    // Its outcome has a repaired ID.
    #expect(try add("x'5AEB'") == 1)
    try finish(.refused)
    var filter = OutcomeFilter()
    filter.ids = ["Z\u{FFFD} (entry 4)"]
    let page = try queue.outcomes(filter, app: "shop", after: "0")
    #expect(page.rows.map(\.id) == ["Z\u{FFFD} (entry 4)"])
    #expect(try place.strings("SELECT entry FROM ids") == ["4"])
    #expect(try queue.trim(before: now + 1) == 1)
    #expect(try place.strings("SELECT id FROM ids") == [])
  }

  /// The entries of a claim are a range, and other programs may change rows in it.
  @Test func aClaimHasItsEntriesAlone() throws {
    let queue = try place.open()
    func add(_ ids: ClosedRange<Int>) throws {
      _ = try queue.enqueue(ids.map { NewEntry("\($0)") }, at: now)
    }
    func held() throws -> [String] {
      try place.strings(
        """
        SELECT id || ' ' || held.worker || ' ' || held.deliveries FROM held
          JOIN entries USING (number) ORDER BY number
        """)
    }
    try add(1...9)
    let one = try queue.join()
    let other = try queue.join()
    var got = try queue.claim(one, room: 3, at: now)
    let others = try queue.claim(other, room: 2, at: now)
    got += try queue.claim(one, room: 1, at: now) + queue.claim(one, room: 1, at: now)
    #expect(got.ids == ["1", "2", "3", "6", "7"])
    #expect(
      try held()
        == ["1", "2", "3", "4", "5", "6", "7"].map {
          "\($0) \(["4", "5"].contains($0) ? other.number : one.number) 1"
        })
    // Nothing changes what is held.
    try place.write("UPDATE entries SET due = 1")
    try place.write("UPDATE entries SET lane = 'urgent'")
    #expect(
      try place.strings("SELECT id FROM entries WHERE due = 1 AND lane = 'urgent'") == ["8", "9"])
    #expect(try queue.depths(at: now)["shop"]?.claimed == 7)
    #expect(try queue.depths(at: now)["shop"]?.ready == 2)
    // A returned entry is not held, although the entries around it are claimed.
    try queue.record(got[1], [], .released(at: nil), by: one, at: now)
    try place.write("UPDATE entries SET due = 0, lane = 'normal' WHERE id IN ('2', '8')")
    #expect(try held().count == 6)
    #expect(try queue.claim(other, room: 9, at: now).ids == ["9", "2", "8"])
    // A claim ends with its last entry.
    try queue.record([got[0], got[4]].accepted, by: one, at: now)
    #expect(try place.strings("SELECT first || ' ' || last FROM claims") == ["1 3", "4 5", "6 7"])
    try queue.record([got[3]].accepted, by: one, at: now)
    #expect(try place.strings("SELECT first || ' ' || last FROM claims") == ["1 3", "4 5"])
    try queue.leave(other, line: "gone", at: now)
    #expect(
      try place.strings("SELECT id || ' ' || deliveries FROM entries")
        == ["2 1", "3 0", "4 1", "5 1", "8 1", "9 1"])
    #expect(try held() == ["3 \(one.number) 1"])
    let back = try queue.claim(one, room: 9, at: now)
    #expect(back.ids == ["9", "2", "4", "5", "8"])
    try queue.record((back + [got[2]] + others).accepted, by: one, at: now)
    #expect(try place.strings("SELECT id FROM entries") == [])
    #expect(try place.strings("SELECT first FROM claims") == [])
    #expect(try place.ends().count == 9)
  }

  /// Statements of many rows treat each row as its own statement would.
  @Test func manyOutcomesTogetherCountOnce() throws {
    let queue = try place.open()
    _ = try queue.enqueue((1...70).map { NewEntry("\($0)") }, at: now)
    let (workerID, got) = try queue.claimed(room: 99)
    #expect(got.map(\.deliveries) == .init(repeating: 1, count: 70))
    #expect(
      try place.strings("SELECT DISTINCT worker || ' ' || deliveries FROM held")
        == ["\(workerID.number) 1"])
    let ends = got.accepted
    // One becomes a dead letter, and comes back with another number.
    var dead = ends[40]
    (dead.outcomes[0].kind, dead.disposition) = (.dead, .dead(line: "died"))
    try queue.record([ends[3], dead], by: workerID, at: now)
    let letters = try queue.deadLetters(app: "shop", ids: [], after: "", most: 9)
    #expect(try queue.retry(letters, app: "shop", at: now).count == 1)
    try queue.record(ends, by: workerID, at: now)
    #expect(try place.strings("SELECT id FROM entries") == ["41"])
    #expect(
      try place.strings("SELECT count(*) || ' ' || count(DISTINCT id) FROM outcomes") == ["70 70"])
    let again = try queue.claim(workerID, room: 99, at: now)
    let rejected = PushOutcome(position: 0, token: "00", kind: .rejected)
    try queue.record(again.map { EntryUpdate($0, [rejected], .finished) }, by: workerID, at: now)
    #expect(try place.strings("SELECT DISTINCT outcome FROM outcomes") == ["accepted"])
    #expect(try place.strings("SELECT count(*) FROM ids") == ["70"])
  }

  /// Rows between those of a statement belong to others, and their outcomes' texts differ.
  @Test(arguments: [1, 2, 9, 20]) func entriesOfAppsMayAlternate(_ together: Int) throws {
    let queue = try place.open()
    let apps = (0..<240).map { $0 / together % 2 == 0 ? "shop" : "news" }
    _ = try queue.enqueue(
      apps.enumerated().map { NewEntry(app: $1, id: "\($0)", token: "00", payload: "{}") }, at: now)
    let (workerID, got) = try queue.claimed(room: 999)
    let own = apps.indices.filter { apps[$0] == "shop" }
    #expect(got.ids == own.map { "\($0)" })
    #expect(
      try place.strings(
        "SELECT app || held.worker || held.deliveries FROM held JOIN entries USING (number)")
        == own.map { _ in "shop\(workerID.number)1" })
    let long = String(repeating: "e", count: 300)
    let ends = got.map { entry in
      let reason = entry.content.id + long
      return EntryUpdate(
        entry, [PushOutcome(position: 0, token: "00", kind: .rejected, reason: reason)], .finished)
    }
    // The responses do not arrive in order.
    for part in [ends.filter { $0.number % 3 == 0 }, ends.filter { $0.number % 3 > 0 }.reversed()] {
      try queue.record(part, by: workerID, at: now)
    }
    #expect(try place.strings("SELECT id FROM entries WHERE app = 'shop'") == [])
    #expect(try place.strings("SELECT id FROM entries").count == 240 - own.count)
    #expect(
      try place.strings(
        "SELECT count(*) FROM outcomes WHERE token = '00' AND reason = id || '\(long)'")
        == ["\(own.count)"])
  }

  @Test func goneDevicesKeepTheirLatestTime() throws {
    let queue = try place.open()
    _ = try queue.enqueue(["a", "b"].map { NewEntry($0) }, at: now)
    let workerID = try queue.join()
    for (entry, since) in zip(try queue.claim(workerID, room: 9, at: now), [7, 5] as [Int64]) {
      var outcome = PushOutcome(position: 0, token: "00", kind: .rejected, reason: "Unregistered")
      outcome.goneSince = since
      try queue.record(entry, [outcome], .finished, by: workerID, at: now)
    }
    #expect(try place.strings("SELECT app || token || since FROM gone") == ["shop007"])
  }

  @Test func aNewerQueueIsLeftAlone() throws {
    _ = try place.open()
    try DatabaseQueue(path: place.file).writeWithoutTransaction {
      try $0.execute(sql: "PRAGMA user_version = \(SQLiteSchema.version + 1)")
    }
    #expect(fault { try place.open() }.contains("is of a newer relay"))
  }

  @Test func aFileThatIsRemovedOrReplacedIsSaidAndTakesNothing() throws {
    func change(_ name: String, _ act: (String) throws -> Void) throws {
      let place = try SQLitePlace()
      let queue = try place.open()
      let workerID = try queue.join()
      _ = try queue.enqueue([NewEntry("a")], at: now)
      try queue.check()
      try act(place.file + name)
      let words = "\(place.file)\(name): it was removed or replaced"
      #expect(fault { try queue.check() }.hasPrefix(words))
      #expect(
        fault {
          try queue.enqueue([NewEntry("b")], at: now)
        }.hasPrefix(words))
      #expect(fault { try queue.claim(workerID, room: 9, at: now) }.hasPrefix(words))
    }
    for name in ["", "-wal"] {
      try change(name) { try FileManager.default.removeItem(atPath: $0) }
      try change(name) {
        try Data().write(to: URL(filePath: $0 + ".new"))
        #expect(rename($0 + ".new", $0) == 0)
      }
    }
  }

  @Test func whatIsNoDatabaseIsSaid() throws {
    try String(repeating: "no database ", count: 100).write(
      toFile: place.file, atomically: true, encoding: .utf8)
    #expect(fault { try place.open() }.contains(place.file))
  }

  @Test func powerAsksForFullSynchronization() throws {
    #expect(throws: Never.self) { try SQLiteQueue(place.file, sync: .power).check() }
  }

  /// INSERT OR IGNORE would ignore the violation of a check, and the producer would not know.
  @Test func anUnknownLaneTimeOrCampaignIsAnError() throws {
    let place = try SQLitePlace()
    _ = try place.open()
    let lanes = ["'fast'", "NULL", "1", "'Urgent'"].map { ("lane", $0, "urgent, normal or bulk") }
    let times = ["1900000000", "NULL", "-1", "1 << 60", "'soon'"].map {
      ("due", $0, "in UNIX milli")
    }
    let campaigns = ["''", "x'61'", "'\(String(repeating: "x", count: 65))'"].map {
      ("campaign", $0, "text of 1 to 64 characters")
    }
    for (column, value, words) in lanes + times + campaigns {
      let said = fault {
        try DatabaseQueue(path: place.file).write {
          try $0.execute(
            sql: """
              INSERT OR IGNORE INTO entries (app, id, token, payload, \(column))
              VALUES ('shop', 'a', '00', '{}', \(value))
              """)
        }
      }
      #expect(said.contains("\(column) is \(words)"), "\(said)")
    }
  }
}
