import GRDB
import GRDBSQLite

/// Records what became of the entries that workers hold.
extension SQLiteQueue {
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
  private func recordTogether(
    _ updates: ArraySlice<EntryUpdate>, by workerID: WorkerID, at now: Int64
  ) throws {
    guard !updates.isEmpty else { return }
    try file.change { database in
      var record = try SQLiteRecord(database, updates, by: workerID.number, at: now)
      try record.write()
    }
  }

  package func trim(before: Int64) throws -> Int {
    var (total, from): (Int, Int64) = (0, 0)
    while true {
      // Removes the oldest first and a limited number in each transaction, so that other programs
      // can write. Outcomes that stay do not stop it.
      let last = try file.read { database in
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
      total += try file.update(
        """
        DELETE FROM outcomes WHERE number IN (
          SELECT number FROM outcomes AS oldest
          WHERE number > ? AND number <= ? AND at < ?
            AND NOT EXISTS (SELECT 1 FROM dead WHERE number = oldest.entry)
            AND NOT EXISTS (SELECT 1 FROM entries WHERE number = oldest.entry))
        """, [from, last, before])
      from = last
    }
  }
}

/// The record of some updates of a worker. Used within a transaction.
private struct SQLiteRecord {
  /// The worker still holds the entry by this delivery.
  private static let isHeld = "number = ? AND worker = ? AND deliveries = ?"

  private let database: Database
  private let claims: SQLiteClaims
  private let worker: Int64
  private let now: Int64
  private var updates: ArraySlice<EntryUpdate>
  private var ends: [Int64] = []
  /// Ends of entries that no other waits for.
  private var quickEnds: [Int64] = []

  init(
    _ database: Database, _ updates: ArraySlice<EntryUpdate>, by worker: Int64, at now: Int64
  ) throws {
    (self.database, self.updates, self.worker, self.now) = (database, updates, worker, now)
    claims = SQLiteClaims(database: database)
    for place in updates.indices where updates[place].isByOrder {
      let isHeld = try HotStatement.finds(
        database, "SELECT 1 FROM held WHERE \(Self.isHeld)",
        updates[place].number, worker, Int64(updates[place].deliveries))
      if !isHeld { self.updates[place].dropOrders() }
    }
  }

  mutating func write() throws {
    if try SQLiteQueue.hasSuspects(database) {
      for update in updates where update.disposition.isEnd {
        try database.execute(
          sql: "DELETE FROM suspects WHERE entry = ?", arguments: [update.number])
      }
    }
    try SQLiteQueue.add(updates, at: now, database)
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
      try writeTokens(of: update)
      try write(update)
    }
    try end()
  }

  private func writeTokens(of update: EntryUpdate) throws {
    for outcome in update.outcomes {
      if let since = outcome.goneSince {
        let gone = try database.cachedStatement(
          sql: """
            INSERT INTO gone (app, token, since, at) VALUES (?, ?, ?, ?)
            ON CONFLICT (app, token) DO UPDATE SET since = max(since, excluded.since), at = excluded.at
            """)
        try gone.execute(arguments: [update.app, outcome.token.text, since, now])
      }
      if let since = outcome.badSince {
        try SQLiteQueue.recordToken(
          database, GoneToken(token: outcome.token.text, since: since), update.app, at: now)
      }
    }
  }

  private mutating func write(_ update: EntryUpdate) throws {
    if update.disposition != .held, update.disposition != .finished {
      try claims.write(update.number, of: worker)
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
          max(1, due), isRequested ? 1 : 0, "\(TimeText.of(now)) \(line)", update.number, worker,
          update.deliveries,
        ])
    case .released(let due):
      try database.execute(
        sql: """
          UPDATE entries SET worker = NULL, deliveries = deliveries - 1, due = max(1, coalesce(?, due))
          WHERE \(Self.isHeld)
          """, arguments: [due, update.number, worker, update.deliveries])
    case .dead(let line):
      try database.execute(
        sql: """
          INSERT INTO dead (number, app, id, \(SQLiteSchema.content), made, deliveries, history, at)
          SELECT number, app, id, \(SQLiteSchema.content), made, deliveries,
            coalesce(history || char(10), '') || ?, ?
          FROM entries WHERE \(Self.isHeld)
          """,
        arguments: [
          "\(TimeText.of(now)) \(line)", now, update.number, worker, update.deliveries,
        ])
      if database.changesCount == 1 { ends.append(update.number) }
    }
  }

  private func end() throws {
    let delete = "DELETE FROM entries WHERE number"
    try HotStatement.run(database, delete, numbers: ends)
    sqlite3_set_last_insert_rowid(database.sqliteConnection, SQLiteSchema.quickEnd)
    defer { sqlite3_set_last_insert_rowid(database.sqliteConnection, 0) }
    try HotStatement.run(database, delete, numbers: quickEnds)
    try claims.trim(of: worker)
  }
}
