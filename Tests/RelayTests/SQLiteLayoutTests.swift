import Foundation
import GRDB
import Testing

@testable import Relay

/// Files of each layout that the queue has had, made by layouts.sql.
@Suite struct SQLiteLayoutTests {
  static let layouts = [
    "1-without-channel", "1", "2", "3-loose", "3", "4", "5", "6", "7", "8", "9",
  ]

  private let now = QueueRules.now
  private let place: SQLitePlace

  init() throws { place = try SQLitePlace() }

  private func write(_ sql: String) throws {
    try DatabaseQueue(path: place.file).writeWithoutTransaction { try $0.execute(sql: sql) }
  }

  private func make(_ layout: String) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "layouts.sql")
    let number = try #require(Self.layouts.firstIndex(of: layout))
    var lines: [String] = []
    for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n") {
      let parts = line.components(separatedBy: "  --: ")
      let ends = parts.count < 2 ? [] : parts[1].split(separator: " ").map(String.init)
      let range = try ends.map { try #require(Self.layouts.firstIndex(of: $0)) }
      // SQLite keeps the text of a table with its comments.
      if range.isEmpty || (range[0]...range[1]).contains(number) { lines.append(parts[0]) }
    }
    try write(lines.joined(separator: "\n"))
  }

  /// The tables' definitions, without their rows.
  private func schema(_ file: String) throws -> [String] {
    try DatabaseQueue(path: file).read {
      try String.fetchAll(
        $0,
        sql: "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master ORDER BY 1")
    }
  }

  /// Relays of other versions wrote their version number into files without changing them, and so
  /// does a producer that runs the text of --print-schema.
  @Test(arguments: layouts, [nil, 2, 3, 4, 5, 6, 7, 8, 9, SQLiteSchema.version])
  func eachLayoutBecomesTheOneOfNow(_ layout: String, _ number: Int?) throws {
    try make(layout)
    let tables = try place.strings("SELECT name FROM sqlite_master")
    let hasNewNames = tables.contains("bad_tokens")
    let hasBadTokens = tables.contains("bad") || hasNewNames
    if hasBadTokens {
      let (bad, notes) = hasNewNames ? ("bad_tokens", "app_state") : ("bad", "notes")
      try write(
        """
        INSERT INTO \(bad) VALUES (7, 'shop', '0b', 9), (8, 'shop', '0c', 9);
        DELETE FROM \(bad) WHERE number = 8;
        INSERT INTO \(notes) VALUES ('shop', 'guard.accepted', '1');
        """)
    }
    let (answers, story) = hasNewNames ? ("deferrals", "history") : ("answers", "story")
    try write(
      """
      INSERT INTO entries (app, id, token, payload, \(answers), \(story))
        VALUES ('shop', 'waits', '00', '{}', 2, 'long ago');
      INSERT INTO entries (app, id, tokens, payload, deliveries, worker)
        VALUES ('shop', 'held', '["00","01"]', '{}', 1, 7);
      INSERT INTO entries (app, id, token, payload, due) VALUES ('shop', 'later', '02', '{}', 5);
      INSERT INTO entries (app, id, token, payload) VALUES ('shop', 'gone', '03', '{}');
      DELETE FROM entries WHERE id = 'gone';
      INSERT INTO workers VALUES (7, 'shop', 'old 1', 1);
      INSERT INTO outcomes
        (number, app, id, position, token, outcome, reason, http_status, apns_id, deliveries, at)
        VALUES (9, 'shop', 'held', 0, '00', 'accepted', '', 200, 'x', 1, 1);
      INSERT INTO gone (app, token, since) VALUES ('shop', '0a', 3);
      INSERT INTO dead (number, app, id, token, payload, made, deliveries, \(story), at)
        VALUES (1000, 'shop', 'dead', '00', '{}', 1, 5, 'died with it', 2);
      INSERT INTO provider_tokens VALUES ('TEAM', 'KEY', 'jwt', 1);
      """)
    if ["8", "9"].contains(layout) {
      try write("UPDATE outcomes SET entry = (SELECT number FROM entries WHERE id = 'held')")
    }
    if let number { try write("PRAGMA user_version = \(number)") }
    let queue = try place.open()
    let fresh = try SQLitePlace()
    _ = try fresh.open()
    let wanted = try schema(fresh.file)
    #expect(try schema(place.file) == wanted)
    #expect(try place.strings("PRAGMA user_version") == ["\(SQLiteSchema.version)"])

    _ = try queue.reclaim(silentSince: now, at: now)
    #expect(try place.strings("SELECT made FROM dead") == ["1000"])
    #expect(try place.strings("SELECT count(*) FROM entries WHERE made > 1e12") == ["3"])
    #expect(
      try place.strings("SELECT deferrals || history FROM entries WHERE id = 'waits'")
        == ["2long ago"])
    let (workerID, got) = try queue.claimed()
    #expect(got.ids == ["held", "later", "waits"])
    #expect(got.allSatisfy { $0.content.lane == .normal })
    #expect(got.first?.resolved.contains(0) == true)
    #expect(try queue.depths(at: now)["shop"]?.dead == 1)
    let broadcast = NewEntry(app: "shop", id: "b", channel: "AQID", payload: "{}")
    #expect(try queue.enqueue([broadcast, NewEntry("waits")], at: now) == 1)
    // No number is used twice: dead letters keep theirs.
    #expect(try queue.claim(workerID, room: 9, at: now).map(\.number) == [5])
    try queue.record(
      got.map {
        EntryUpdate($0, [PushOutcome(position: 1, token: "01", kind: .accepted)], .finished)
      },
      by: workerID, at: now)
    #expect(try place.ends().count == 4)
    #expect(try place.strings("SELECT token FROM gone") == ["0a"])
    #expect(try place.history(of: "dead") == "died with it")
    if hasBadTokens {
      #expect(try queue.appState("guard.accepted", app: "shop") == "1")
      try queue.recordBadTokens([GoneToken(token: "0d", since: 1)], app: "shop", at: now)
      let bad = try queue.badTokens(app: "shop", after: 0, most: 9)
      #expect(bad.map(\.token) == ["0b", "0d"])
      #expect(bad.map(\.number) == [7, 9])
    }
  }

  /// Version 8 moved the IDs into their own table.
  @Test func outcomesStayWithTheirIDs() throws {
    try make("7")
    try write(
      """
      INSERT INTO entries (app, id, tokens, payload) VALUES ('shop', 'half', '["00","01"]', '{}');
      INSERT INTO outcomes VALUES
        (1, 'shop', 'half', 1, '01', 'accepted', '', 200, 'x', 1, 1),
        (2, 'shop', 'ended', 0, '02', 'accepted', '', 200, 'x', 1, 1),
        (3, 'shop', 'twice', 0, '03', 'dead', '', 0, 'x', 5, 1),
        (4, 'shop', 'ended', 1, '04', 'rejected', 'BadDeviceToken', 400, 'x', 1, 1),
        (7, 'shop', 'late', 0, '05', 'dead', '', 0, 'x', 5, 1);
      INSERT INTO dead (number, app, id, token, payload, made, deliveries, at) VALUES
        (1000, 'shop', 'twice', '03', '{}', 1, 5, 2), (2000, 'shop', 'twice', '03', '{}', 1, 5, 3),
        (3000, 'shop', 'late', '05', '{}', 1, 5, 3), (4000, 'shop', 'free', '06', '{}', 1, 5, 3);
      """)
    let all = "SELECT number || id || position || token || outcome || reason FROM outcomes"
    let before = try place.strings(all)
    let queue = try place.open()
    #expect(try place.strings(all) == before)
    func add(_ ids: String...) throws -> Int {
      try queue.enqueue(ids.map { NewEntry($0) }, at: now)
    }
    #expect(try add("half", "ended", "twice", "late") == 0)
    let letters = try queue.deadLetters(app: "shop", ids: [], after: "", most: 9)
    #expect(letters.map(\.devices) == [0, 1, 1, 0])
    #expect(try queue.retry(letters, app: "shop", at: now) == ["2000": 1, "3000": 1])
    #expect(try add("free") == 1)
    let (_, got) = try queue.claimed()
    #expect(got.ids == ["half", "twice", "late", "free"])
    #expect(got.map(\.resolved) == [[1], [], [], []])
    // An entry that waits keeps the outcomes that it has.
    #expect(try queue.trim(before: now) == 2)
    #expect(try add("half", "ended", "twice", "late") == 1)
    #expect(try place.strings("SELECT number FROM outcomes") == ["1"])
  }

  @Test func lanesAreKept() throws {
    try make("6")
    try write(
      """
      INSERT INTO entries (app, id, token, payload, lane) VALUES ('shop', 'a', '00', '{}', 'bulk');
      INSERT INTO dead (number, app, id, token, payload, lane, made, deliveries, at)
        VALUES (1000, 'shop', 'dead', '00', '{}', 'urgent', 1, 5, 2);
      """)
    let queue = try place.open()
    let (_, got) = try queue.claimed()
    #expect(got.map(\.content.lane) == [.bulk])
    #expect(got.map(\.content.campaign) == [nil])
    #expect(try place.laneOfTheDead() == "urgent")
  }

  /// Values that looser checks allowed have a meaning with stricter ones.
  @Test func numbersThatMeanNothingDoNotStopIt() throws {
    try make("3-loose")
    try write(
      """
      INSERT INTO entries (app, id, token, payload, made, due, deliveries, answers, worker)
        VALUES ('shop', 'a', '00', '{}', -1, -1, -1, -1, 7), ('shop', 'b', '00', '{}', 1, 0, 1 << 40, 1 << 40, NULL)
      """)
    let queue = try place.open()
    _ = try queue.reclaim(silentSince: now, at: now)
    #expect(try queue.depths(at: now)["shop"] != nil)
    #expect(
      try place.strings("SELECT made || ' ' || due || ' ' || deferrals FROM entries WHERE id = 'a'")
        == ["0 0 0"])
  }

  @Test func whatIsNoQueueIsLeftAsItIs() throws {
    for (sql, words) in [
      ("CREATE TABLE entries (number INTEGER)", "another program"),
      ("PRAGMA user_version = 2", "another program"),
      ("PRAGMA application_id = 5", "another program"),
    ] {
      let other = try SQLitePlace()
      try DatabaseQueue(path: other.file).writeWithoutTransaction { try $0.execute(sql: sql) }
      let before = try schema(other.file)
      #expect(fault { try other.open() }.contains(words), "\(sql)")
      #expect(try schema(other.file) == before)
    }
    try make("2")
    try write("ALTER TABLE entries ADD COLUMN own TEXT")
    let before = try schema(place.file)
    #expect(fault { try place.open() }.contains("entries has a column own"))
    #expect(try schema(place.file) == before)
  }

  /// The first files of version 6 did not say when a gone device was recorded.
  @Test func goneDevicesGetATime() throws {
    _ = try place.open()
    let wanted = try schema(place.file)
    try write(
      """
      DROP INDEX dead_id;
      DROP TABLE gone;
      CREATE TABLE gone (
        app TEXT NOT NULL, token TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (app, token)
      ) WITHOUT ROWID;
      INSERT INTO gone VALUES ('shop', '0a', 3)
      """)
    _ = try place.open()
    #expect(try schema(place.file) == wanted)
    #expect(
      try place.strings("SELECT token || ' ' || since || ' ' || at FROM gone") == ["0a 3 0"])
  }

  /// A producer has renamed a column: the relay does not open the file.
  @Test func aTableWithoutAColumnIsRefused() throws {
    _ = try place.open()
    try write("ALTER TABLE outcomes RENAME COLUMN reason TO cause")
    #expect(fault { try place.open() }.contains("it lacks the column reason of outcomes"))
    #expect(try place.strings("PRAGMA user_version") == ["\(SQLiteSchema.version)"])
  }
}
