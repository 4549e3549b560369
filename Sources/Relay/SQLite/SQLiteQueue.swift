import CSQLite
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The queue in a SQLite file, for any number of processes on one machine.
package final class SQLiteQueue: QueueEngine {
  let database: DatabaseQueue
  /// Reads while `database` writes.
  let counting: DatabaseQueue
  private let locks: WorkerLocks
  let room: QueueRoom
  let busy = BusyWait()
  let news = QueueNews()
  /// nil before anyone watches.
  let follower = Mutex<SQLiteNews?>(nil)
  /// The number of WAL pages after which SQLite checkpoints.
  let checkpointPages = Atomic(0)
  /// The inode of the open WAL.
  private let wal: UInt64?

  /// Nobody reads how much memory SQLite uses, and each allocation would take a lock for it. No
  /// effect after SQLite was used.
  private static let countsNoMemory = apns_sqlite_count_no_memory()

  /// Opens the file and creates missing tables.
  package init(_ file: String, sync: QueueSync = .process) throws {
    _ = Self.countsNoMemory
    var options = Configuration()
    options.busyMode = .callback { [busy] in busy.wait($0) }
    options.maximumReaderCount = 1
    options.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA synchronous = \(sync == .power ? "FULL" : "NORMAL");
          PRAGMA cache_size = -8000
          """)
    }
    Self.makePrivate(file)
    room = QueueRoom(file)
    do {
      database = try DatabaseQueue(path: file, configuration: options)
      try Self.prepare(database, file)
      options.readonly = true
      // It reads many pages at long intervals, and each page once.
      options.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -1000") }
      counting = try DatabaseQueue(path: file, configuration: options)
    } catch let error as DatabaseError {
      throw RelayFault(file: file, error)
    }
    guard let locks = WorkerLocks(file + "-workers") else {
      throw RelayFault("\(file)-workers: \(String(cString: strerror(errno)))")
    }
    self.locks = locks
    wal = Self.number(of: file + "-wal")
    adaptToRoom()
  }

  /// Creates the file with mode 0600, because it holds provider tokens; SQLite gives its other
  /// files the same mode. An existing file keeps its mode and is not opened here, because closing
  /// it would drop SQLite's locks.
  private static func makePrivate(_ file: String) {
    let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  private static func prepare(_ database: DatabaseQueue, _ file: String) throws {
    try database.inDatabase { database in
      func number(_ name: String) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
      }
      func fault(_ words: String) -> RelayFault { RelayFault("\(file): \(words)") }
      let version = try number("user_version")
      let hasEntries = try database.tableExists("entries")
      guard version <= SQLiteSchema.version else {
        throw fault(
          "queue version \(version) is of a newer relay; "
            + "this one supports up to \(SQLiteSchema.version)")
      }
      guard try number("application_id") == (version == 0 ? 0 : SQLiteSchema.applicationID),
        version > 0 || !hasEntries
      else { throw fault("it is a database of another program, not a relay queue") }
      if version == SQLiteSchema.version, try SQLiteMigration.lack(database) == nil { return }
      if let surplus = try SQLiteMigration.surplus(database) {
        throw fault("\(surplus), which no queue version has: the file was not changed")
      }
      // SQLite does not wait for another process that does the same now.
      for attempt in 1... {
        do {
          try database.execute(sql: "PRAGMA journal_mode = WAL")
          return try database.inTransaction(.immediate) {
            // Another process may have migrated the file since, or a newer relay may have.
            if try number("user_version") <= SQLiteSchema.version {
              try SQLiteMigration.run(database)
            }
            if let lack = try SQLiteMigration.lack(database) { throw fault("it lacks \(lack)") }
            return .commit
          }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempt < 500 {
          if database.isInsideTransaction { try database.rollback() }
          usleep(10_000)
        }
      }
    }
  }

  /// Runs `act` in a transaction. If space runs out, releases the reserve for it, unless it can
  /// wait.
  func change<Value>(
    canWait: Bool = false, _ act: (Database) throws -> Value
  ) throws -> Value {
    func attempt() throws -> Value {
      var value: Value?
      try database.inTransaction(.immediate) { database in
        value = try act(database)
        return .commit
      }
      return value!
    }
    do {
      do {
        return try attempt()
      } catch let error as DatabaseError where error.lacksRoom && !canWait {
        guard makeRoom() else { throw error }
        // Takes freed space back for the reserve before other programs use it.
        defer { room.keepReserve() }
        return try attempt()
      }
    } catch let error as DatabaseError {
      throw RelayFault(file: room.file, error)
    }
  }

  func read<Value>(_ act: (Database) throws -> Value) throws -> Value {
    do {
      return try database.unsafeRead(act)
    } catch let error as DatabaseError {
      throw RelayFault(file: room.file, error)
    }
  }

  package var isHeldUp: Bool { busy.isHeldUp }
  package func hurry() { busy.hurry() }

  static func number(of file: String) -> UInt64? {
    var status = stat()
    return stat(file, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  /// Throws if the file was removed or replaced: writes to the old one would be lost.
  func demandFile() throws {
    var hasMoved: CInt = 0
    try database.unsafeRead {
      _ = sqlite3_file_control($0.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    }
    let name =
      hasMoved != 0 ? "" : wal != nil && Self.number(of: room.file + "-wal") != wal ? "-wal" : nil
    if let name {
      throw RelayFault(
        "\(room.file)\(name): it was removed or replaced while the relay had it open; "
          + "restore that file, or restart the relay with the other one")
    }
  }

  // MARK: Workers

  package func join(app: String, named name: String, at now: Int64) throws -> WorkerID {
    try change { database in
      try database.execute(
        sql: "INSERT INTO workers (app, name, heard) VALUES (?, ?, ?)", arguments: [app, name, now])
      let number = database.lastInsertedRowID
      // Within the transaction, so that a visible worker always has its lock.
      locks.take(number)
      return WorkerID(number: number, app: app)
    }
  }

  package func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool {
    try change(canWait: true) { database in
      try database.execute(
        sql: "UPDATE workers SET heard = ? WHERE number = ?", arguments: [now, workerID.number])
      return database.changesCount == 1
    }
  }

  package func knows(_ workerID: WorkerID) throws -> Bool {
    try read { database in
      try HotStatement.finds(
        database, "SELECT 1 FROM workers WHERE number = ?", workerID.number)
    }
  }

  package func leave(_ workerID: WorkerID, line: String, at now: Int64) throws {
    try change { database in
      _ = try release(
        database, workerID.number, isAlone: false, at: now, "\(TimeText.of(now)) \(line)")
    }
    locks.drop(workerID.number)
    // Its own commits are no news to this process.
    news.tell()
  }

  package func reclaim(silentSince: Int64, at now: Int64) throws -> Int {
    let isAnyoneSilent = try read { database in
      var workers = try HotStatement(database, "SELECT number, heard FROM workers")
      while try workers.step() {
        if workers.int(1) < silentSince || !locks.isTaken(workers.int(0)) { return true }
      }
      return false
    }
    guard isAnyoneSilent else { return 0 }
    let count = try change { database in
      var count = 0
      // A process has a worker for each app, and all of them end with it.
      var together: [String: Int] = [:]
      for row in try Row.fetchAll(
        database,
        sql:
          "SELECT name, count(*) FROM workers JOIN held ON worker = workers.number GROUP BY name"
      ) {
        together[row[0]] = row[1]
      }
      for row in try Row.fetchAll(database, sql: "SELECT number, name, heard FROM workers") {
        let number: Int64 = row[0]
        let name: String = row[1]
        let isDead = !locks.isTaken(number)
        guard isDead || (row[2] as Int64) < silentSince else { continue }
        count += try release(
          database, number, isAlone: together[name] == 1, at: now,
          "\(TimeText.of(now)) worker \(number) (\(name)) \(isDead ? "died" : "fell silent") with it"
        )
      }
      return count
    }
    news.tell()
    return count
  }

  package func isServed(_ app: String, since time: Int64) throws -> Bool {
    try read { database in
      var workers = try HotStatement(
        database, "SELECT number FROM workers WHERE app = ? AND heard >= ?", app, time)
      while try workers.step() {
        if locks.isTaken(workers.int(0)) { return true }
      }
      return false
    }
  }

  package func workers(app: String, at now: Int64) throws -> [RegisteredWorker] {
    try counting.read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT number, name, heard, (SELECT held FROM connections WHERE worker = workers.number)
          FROM workers WHERE app = ? ORDER BY number
          """, arguments: [app]
      ).map { row in
        RegisteredWorker(
          number: row[0], name: row[1], silentMS: max(0, now - (row[2] as Int64)),
          isRunning: locks.isTaken(row[0]), connections: row[3])
      }
    }
  }

  private func release(
    _ database: Database, _ worker: Int64, isAlone: Bool, at now: Int64, _ line: String
  ) throws -> Int {
    try SQLiteClaims(database).end(of: worker)
    // An entry with many devices that got some responses makes progress, and is not to blame
    // either.
    let isToBlame =
      try isAlone
      && Int.fetchOne(
        database,
        sql: """
          SELECT 1 FROM entries JOIN outcomes ON entry = entries.number
          WHERE worker = ? AND outcomes.deliveries = entries.deliveries LIMIT 1
          """, arguments: [worker]) == nil
    if isToBlame {
      let crashes = try Int.fetchOne(
        database,
        sql: """
          SELECT deliveries - deferrals - coalesce((SELECT crashes FROM suspects WHERE entry = number), 0)
          FROM entries WHERE worker = ?
          """, arguments: [worker])
      let pauseMS = CrashGroup.pauseMS(alone: crashes ?? 0)
      if pauseMS > 0 {
        try database.execute(
          sql: "UPDATE entries SET due = ? WHERE worker = ?",
          arguments: [ParkedTime.of(now + pauseMS, isGuess: false), worker])
      }
    } else {
      try database.execute(
        sql: """
          INSERT INTO suspects (entry, crashes) SELECT number, 1 FROM entries WHERE worker = ?
          ON CONFLICT (entry) DO UPDATE SET crashes = crashes + 1
          """, arguments: [worker])
    }
    try database.execute(
      sql: """
        UPDATE entries SET worker = NULL, due = max(1, due),
          history = coalesce(history || char(10), '') || ?
        WHERE worker = ?
        """, arguments: [line, worker])
    let count = database.changesCount
    try database.execute(sql: "DELETE FROM workers WHERE number = ?", arguments: [worker])
    try database.execute(sql: "DELETE FROM connections WHERE worker = ?", arguments: [worker])
    return count
  }

  // MARK: Entries

  private static let columns = """
    number, app, id, token, tokens, payload, topic, push_type, priority, expiry, collapse_id,
    deadline, deliveries, deferrals, channel, lane, campaign, made, traceparent
    """
  private static let later = """
    SELECT \(columns) FROM entries
    WHERE app = ? AND lane = ? AND worker IS NULL AND due > 0 AND due <= ? ORDER BY due, number
    """
  private static let new = """
    SELECT \(columns) FROM entries WHERE app = ?1 AND lane = ?2 AND worker IS NULL AND due = 0
      AND number > \(SQLiteClaims.last) ORDER BY number
    """

  /// Entries that were in crashes, the least suspicious first.
  private static let suspects = """
    SELECT \(columns), crashes FROM suspects CROSS JOIN entries ON number = entry
    WHERE app = ? AND worker IS NULL AND due <= ? AND crashes >= \(CrashGroup.apart)
    ORDER BY crashes, entry
    """

  package func isAnythingThere(app: String, at now: Int64) throws -> Bool {
    try isAnythingThere(app: app, Lane.allCases, at: now)
  }

  package func nextDue(app: String, lanes: [Lane], at now: Int64) throws -> Int64? {
    if try isAnythingThere(app: app, lanes, at: now) { return now }
    return try read { database in
      try lanes.compactMap { lane in
        var later = try HotStatement(
          database,
          """
          SELECT min(due) FROM entries
          WHERE app = ? AND lane = ? AND worker IS NULL AND due > 0 AND due < ?
          """, app, lane.rawValue, PausedTime.due)
        return try later.step() ? later.optionalInt(0) : nil
      }.min()
    }
  }

  private func isAnythingThere(app: String, _ lanes: [Lane], at now: Int64) throws -> Bool {
    try read { database in
      try lanes.contains { lane in
        try HotStatement.finds(database, Self.later, app, lane.rawValue, now)
          || HotStatement.finds(database, Self.new, app, lane.rawValue)
      }
    }
  }

  package func bringBack(app: String, at now: Int64) throws -> Int {
    let parked = """
      app = ? AND lane IN (\(SQLiteSchema.lanes)) AND worker IS NULL AND due > 0 AND due > ?
        AND due < \(now + ParkedTime.longestMS) AND due % 1000 = 999 AND deferrals > 0
      """
    let isAnyThere = try read { database in
      try HotStatement.finds(database, "SELECT 1 FROM entries WHERE \(parked)", app, now)
    }
    guard isAnyThere else { return 0 }
    return try change { database in
      try database.execute(
        sql: "UPDATE entries SET due = 1 WHERE \(parked)", arguments: [app, now])
      return database.changesCount
    }
  }

  private static func hasSuspects(_ database: Database) throws -> Bool {
    try HotStatement.finds(database, "SELECT 1 FROM suspects LIMIT 1")
  }

  package func claim(
    _ workerID: WorkerID, lanes: [Lane], room: Int, inOrder: Bool, isFree: Bool, at now: Int64
  ) throws -> [Entry] {
    // Outside a transaction, because this check runs all the time.
    guard room > 0,
      try isAnythingThere(app: workerID.app, lanes, at: now)
        || isFree && lanes.count < Lane.allCases.count && read({ try Self.hasSuspects($0) })
    else { return [] }
    try demandFile()
    let budget = try roomToRecord()
    return try change { database in
      // A worker with an expired lease gets no entries until it joins again.
      guard
        try Int.fetchOne(
          database.cachedStatement(sql: "SELECT 1 FROM workers WHERE number = ?"),
          arguments: [workerID.number]) == 1
      else { return [] }
      var collected = Collected(left: room, budget: budget)
      var fresh: [(lane: Lane, places: Range<Int>)] = []
      let lines = inOrder ? SQLiteLines(database, workerID.app) : nil
      let hasSuspects = try Self.hasSuspects(database)
      if hasSuspects {
        var suspects = try HotStatement(database, Self.suspects, workerID.app, now)
        // No other entry is handed out before a free worker has taken the suspects.
        if !isFree, try suspects.step() { return [] }
        try collected.take(&suspects, lines, areSuspects: true)
      }
      if collected.entries.isEmpty {
        for lane in lanes where collected.left > 0 {
          var later = try HotStatement(database, Self.later, workerID.app, lane.rawValue, now)
          try collected.take(&later, lines)
          let count = collected.entries.count
          var new = try HotStatement(database, Self.new, workerID.app, lane.rawValue)
          try collected.take(&new, lines)
          if count < collected.entries.count {
            fresh.append((lane, count..<collected.entries.count))
          }
        }
      }
      if collected.lacksRoom, collected.entries.isEmpty, try !isAnythingHeld(database) {
        throw tooLittleRoom
      }
      try lines?.block(collected.blocked)
      try HotStatement.run(
        database, "UPDATE entries SET worker = ?, deliveries = deliveries + 1 WHERE number",
        workerID.number, numbers: collected.numbers(except: fresh.map(\.places)))
      for (lane, places) in fresh {
        try SQLiteClaims(database).add(
          collected.entries[places.first!].number...collected.entries[places.last!].number, lane,
          workerID)
      }
      // In place, because a copy would retain all strings.
      for index in collected.entries.indices {
        let number = collected.entries[index].number
        collected.entries[index].deliveries += 1
        if hasSuspects {
          var crashes = try HotStatement(
            database, "SELECT crashes FROM suspects WHERE entry = ?", number)
          if try crashes.step() { collected.entries[index].crashes = Int(crashes.int(0)) }
        }
        guard collected.entries[index].content.tokens != nil else { continue }
        var positions = try HotStatement(
          database, "SELECT position FROM outcomes WHERE entry = ?", number)
        while try positions.step() {
          collected.entries[index].resolved.insert(Int(positions.int(0)))
        }
      }
      return collected.entries
    }
  }

  private func isAnythingHeld(_ database: Database) throws -> Bool {
    try Bool.fetchOne(
      database, sql: "SELECT EXISTS (SELECT 1 FROM held)") == true
  }

  /// The rows read for a claim.
  private struct Collected {
    /// The limit for rows read, because blocked entries use no room.
    private static let most = 4000

    var left: Int
    /// The bytes available for recording their outcomes.
    var budget: Int64
    var lacksRoom = false
    var entries: [Entry] = []
    /// The numbers of blocked entries.
    var blocked: [Int64] = []

    init(left: Int, budget: Int64) {
      self.left = left
      self.budget = budget
    }

    func numbers(except places: [Range<Int>]) -> [Int64] {
      entries.indices.filter { place in !places.contains { $0.contains(place) } }
        .map { entries[$0].number }
    }

    mutating func take(
      _ rows: inout HotStatement, _ lines: SQLiteLines?, areSuspects: Bool = false
    ) throws {
      var count = 0
      while left > 0, !lacksRoom, count < Self.most, try rows.step() {
        count += 1
        if areSuspects, entries.count >= CrashGroup.most(after: Int(rows.int(19))) { break }
        // A producer can bind invalid UTF-8 as text, and some languages do.
        var fault: String?
        let number = rows.int(0)
        // A repaired ID may equal another entry's, so the entry's number is added.
        let id =
          rows.text(2, "the id", &fault) ?? "\(rows.text(2) ?? "") (entry \(number))"
        let token = rows.text(3, "token", &fault)
        let tokens = rows.text(4, "tokens", &fault)
        // A token of 32 bytes in hex, with quotes and a comma: exact enough to decide how much to
        // read.
        let weight = tokens.map { max(1, min(NewEntry.mostTokens, $0.utf8.count / 67)) } ?? 1
        if weight > left, !entries.isEmpty { break }
        let channel = rows.text(14, "channel", &fault)
        let lane = rows.lane(15)
        if let lines {
          let targets = EntryTargets.lines(
            token: token, tokens: tokens, channel: channel, lane: lane)
          guard try lines.isFirst(number, in: targets) else {
            blocked.append(number)
            continue
          }
        }
        let cost = SQLiteQueue.cost(entries: 1, notifications: Int64(weight))
        guard cost <= budget else {
          lacksRoom = true
          break
        }
        budget -= cost
        left -= weight
        var content = NewEntry(
          app: rows.text(1) ?? "", id: id, token: token, tokens: tokens, channel: channel,
          payload: rows.text(5, "payload", &fault) ?? "")
        content.topic = rows.text(6, "topic", &fault)
        content.pushType = rows.text(7, "push_type", &fault)
        content.priority = rows.optionalInt(8).map { Int($0) }
        content.expiry = rows.optionalInt(9)
        content.collapseID = rows.text(10, "collapse_id", &fault)
        content.deadline = rows.optionalInt(11)
        content.lane = lane
        content.campaign = rows.text(16, "campaign", &fault)
        content.traceparent = rows.text(18).flatMap(TraceParent.valid)
        entries.append(
          Entry(
            number: number, content: content, deliveries: Int(rows.int(12)),
            deferrals: Int(rows.int(13)), made: rows.int(17), resolved: [], fault: fault))
      }
    }
  }

  package func known(_ ids: [String], app: String) throws -> [String: KnownEntry] {
    try read { database in
      var all: [String: KnownEntry] = [:]
      for id in ids {
        var outcomes = try HotStatement(
          database,
          """
          SELECT token, outcome, reason, http_status, apns_id FROM outcomes
          WHERE entry = (SELECT entry FROM ids WHERE app = ? AND id = ?) AND position = 0
          """, app, id)
        if try outcomes.step() {
          var outcome = PushOutcome(
            position: 0, token: WrittenToken(outcomes.text(0) ?? ""),
            kind: PushOutcome.Kind(rawValue: outcomes.text(1) ?? "") ?? .unknown,
            reason: outcomes.text(2) ?? "")
          outcome.httpStatus = Int(outcomes.int(3))
          outcome.apnsID = PushID(outcomes.text(4) ?? "")
          if outcome.httpStatus == 410 {
            var gone = try HotStatement(
              database, "SELECT since FROM gone WHERE app = ? AND token = ?", app,
              outcome.token.text)
            if try gone.step() { outcome.goneSince = gone.int(0) }
          }
          all[id] = KnownEntry(outcome: outcome)
          continue
        }
        var entries = try HotStatement(
          database,
          """
          SELECT coalesce(token, channel) FROM entries
          WHERE number = (SELECT entry FROM ids WHERE app = ? AND id = ?)
          """, app, id)
        if try entries.step() { all[id] = KnownEntry(target: entries.text(0)) }
      }
      return all
    }
  }

  // MARK: Outcomes

  package func record(_ updates: [EntryUpdate], by workerID: WorkerID, at now: Int64) throws {
    do {
      try recordTogether(updates[...], by: workerID, at: now)
    } catch let fault as RelayFault where fault.lacksRoom && updates.count > Self.fewUpdates {
      // Small transactions change fewer pages. A repeated outcome is ignored.
      for start in stride(from: 0, to: updates.count, by: Self.fewUpdates) {
        let end = min(updates.count, start + Self.fewUpdates)
        try recordTogether(updates[start..<end], by: workerID, at: now)
      }
    }
  }

  private static let fewUpdates = 64
  private static let end = "DELETE FROM entries WHERE number"
  /// The worker still holds the entry by this delivery.
  private static let isHeld = "number = ? AND worker = ? AND deliveries = ?"

  private func recordTogether(
    _ updates: ArraySlice<EntryUpdate>, by workerID: WorkerID, at now: Int64
  ) throws {
    guard !updates.isEmpty else { return }
    try change { database in
      var updates = updates
      let claims = SQLiteClaims(database)
      for place in updates.indices where updates[place].isByOrder {
        let isHeld = try HotStatement.finds(
          database, "SELECT 1 FROM held WHERE \(Self.isHeld)",
          updates[place].number, workerID.number, Int64(updates[place].deliveries))
        if !isHeld { updates[place].dropOrders() }
      }
      let gone = try database.cachedStatement(
        sql: """
          INSERT INTO gone (app, token, since, at) VALUES (?, ?, ?, ?)
          ON CONFLICT (app, token) DO UPDATE SET since = max(since, excluded.since), at = excluded.at
          """)
      if try Self.hasSuspects(database) {
        for update in updates where update.disposition.isEnd {
          try database.execute(
            sql: "DELETE FROM suspects WHERE entry = ?", arguments: [update.number])
        }
      }
      try Self.add(updates, at: now, database)
      var ends: [Int64] = []
      var quickEnds: [Int64] = []
      let hasLines = try HotStatement.finds(database, "SELECT 1 FROM lines LIMIT 1")
      for place in updates.indices {
        // Most are not copied, because a copy would retain all strings.
        if updates[place].disposition == .finished, !updates[place].hasLostToken {
          if hasLines || !updates[place].wasSent {
            ends.append(updates[place].number)
          } else {
            quickEnds.append(updates[place].number)
          }
          continue
        }
        let update = updates[place]
        for outcome in update.outcomes {
          if let since = outcome.goneSince {
            try gone.execute(arguments: [update.app, outcome.token.text, since, now])
          }
          if let since = outcome.badSince {
            try Self.recordToken(
              database, GoneToken(token: outcome.token.text, since: since), update.app, at: now)
          }
        }
        if update.disposition != .held, update.disposition != .finished {
          try claims.write(update.number, of: workerID.number)
        }
        switch update.disposition {
        case .held: break
        case .finished: ends.append(update.number)
        case .deferred(let due, let isRequested, let line):
          try database.execute(
            sql: """
              UPDATE entries SET worker = NULL, due = ?, deferrals = deferrals + ?,
                history = coalesce(history || char(10), '') || ?
              WHERE \(Self.isHeld)
              """,
            arguments: [
              max(1, due), isRequested ? 1 : 0, "\(TimeText.of(now)) \(line)", update.number,
              workerID.number, update.deliveries,
            ])
        case .released(let due):
          try database.execute(
            sql: """
              UPDATE entries SET worker = NULL, deliveries = deliveries - 1, due = max(1, coalesce(?, due))
              WHERE \(Self.isHeld)
              """, arguments: [due, update.number, workerID.number, update.deliveries])
        case .dead(let line):
          try database.execute(
            sql: """
              INSERT INTO dead (number, app, id, token, tokens, channel, payload, topic, push_type, priority,
                expiry, collapse_id, deadline, lane, campaign, traceparent, made, deliveries, history, at)
              SELECT number, app, id, token, tokens, channel, payload, topic, push_type, priority, expiry,
                collapse_id, deadline, lane, campaign, traceparent, made, deliveries,
                coalesce(history || char(10), '') || ?, ?
              FROM entries WHERE \(Self.isHeld)
              """,
            arguments: [
              "\(TimeText.of(now)) \(line)", now, update.number, workerID.number,
              update.deliveries,
            ])
          if database.changesCount == 1 { ends.append(update.number) }
        }
      }
      try HotStatement.run(database, Self.end, numbers: ends)
      sqlite3_set_last_insert_rowid(database.sqliteConnection, SQLiteSchema.quickEnd)
      defer { sqlite3_set_last_insert_rowid(database.sqliteConnection, 0) }
      try HotStatement.run(database, Self.end, numbers: quickEnds)
      try claims.trim(of: workerID.number)
    }
  }

  package func trim(before: Int64) throws -> Int {
    var (total, from): (Int, Int64) = (0, 0)
    while true {
      // Removes the oldest first and a limited number in each transaction, so that other programs
      // can write. Outcomes that stay do not stop it.
      let last = try read { database in
        try Int64.fetchOne(
          database,
          sql: """
            SELECT max(number) FROM
              (SELECT number, at FROM outcomes WHERE number > ?
                AND number <= coalesce((SELECT min(number) FROM readers), 9223372036854775807)
              ORDER BY number LIMIT 5000)
            HAVING min(at) < ?
            """, arguments: [from, before])
      }
      guard let last else {
        try trimCampaigns(before: before)
        return total
      }
      total += try change { database in
        try database.execute(
          sql: """
            DELETE FROM outcomes WHERE number IN (
              SELECT number FROM outcomes AS oldest
              WHERE number > ? AND number <= ? AND at < ?
                AND NOT EXISTS (SELECT 1 FROM dead WHERE number = oldest.entry)
                AND NOT EXISTS (SELECT 1 FROM entries WHERE number = oldest.entry))
            """, arguments: [from, last, before])
        return database.changesCount
      }
      from = last
    }
  }

  // MARK: The rest

  package func depths(at now: Int64) throws -> [String: QueueDepth] {
    try counting.read { database in
      var depths: [String: QueueDepth] = [:]
      func count(_ sql: String, _ place: WritableKeyPath<QueueDepth, Int>) throws {
        for row in try Row.fetchAll(database, sql: sql) {
          depths[row[0], default: QueueDepth()][keyPath: place] = row[1]
        }
      }
      // Blocked entries wait for an earlier entry, not for a time.
      let held = SQLiteSchema.blocked
      let waiting = """
        SELECT app, lane, sum(count) FROM (
          SELECT app, lane, count(*) AS count FROM entries WHERE worker IS NULL AND due = 0
            GROUP BY app, lane
          UNION ALL
          SELECT claims.app, claims.lane, -count(*) FROM claims CROSS JOIN entries
            ON \(SQLiteClaims.isIn) GROUP BY claims.app, claims.lane
          UNION ALL
          SELECT app, lane, count(*) FROM entries
            WHERE worker IS NULL AND due > 0 AND due IN (1, \(held)) GROUP BY app, lane)
        GROUP BY app, lane HAVING sum(count) > 0
        """
      let oldest = try database.cachedStatement(
        sql: """
          SELECT min(made) FROM (
            SELECT made FROM entries WHERE number = (SELECT min(number) FROM entries
              WHERE app = ?1 AND lane = ?2 AND worker IS NULL AND due = 0
                AND number > \(SQLiteClaims.last))
            UNION ALL SELECT made FROM entries WHERE number = (SELECT min(number) FROM entries
              WHERE app = ?1 AND lane = ?2 AND worker IS NULL AND due > 0 AND due = 1)
            UNION ALL SELECT made FROM entries WHERE number = (SELECT min(number) FROM entries
              WHERE app = ?1 AND lane = ?2 AND worker IS NULL AND due > 0 AND due = \(held)))
          """)
      for row in try Row.fetchAll(database, sql: waiting) {
        let (app, lane): (String, String) = (row[0], row[1])
        let made = try Int64.fetchOne(oldest, arguments: [app, lane])
        depths[app, default: QueueDepth()].waiting[Lane(rawValue: lane) ?? .normal] =
          QueueDepth.Waiting(count: row[2], ageS: made.map { max(0, Int((now - $0) / 1000)) } ?? 0)
      }
      try count(
        """
        SELECT app, count(*) FROM entries WHERE worker IS NULL AND due > 1 AND due < \(PausedTime.due)
        GROUP BY app
        """, \.deferred)
      try count(
        """
        SELECT app, count(*) FROM entries WHERE worker IS NULL AND due > 0 AND due = \(PausedTime.due)
        GROUP BY app
        """, \.paused)
      try count(
        """
        SELECT app, count(*) FROM entries
        WHERE worker IS NULL AND due > \(PausedTime.due) AND due < \(held)
        GROUP BY app
        """, \.paced)
      try count(
        "SELECT app, count(*) FROM held JOIN workers ON workers.number = worker GROUP BY app",
        \.claimed)
      try count("SELECT app, count(*) FROM dead GROUP BY app", \.dead)
      return depths
    }
  }

  package func check() throws {
    try change(canWait: true) { database in
      // A write that changes no row.
      try database.execute(sql: "DELETE FROM workers WHERE number = -1")
      _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM entries WHERE number = 0")
    }
    try demandFile()
    try demandRoom(for: 0)
  }
}
