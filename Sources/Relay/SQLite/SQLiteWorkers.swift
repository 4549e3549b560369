import Foundation
import GRDB

/// The workers of a queue. Their entries wait again once they end.
extension SQLiteQueue {
  package func join(app: String, named name: String, at now: Int64) throws -> WorkerID {
    try file.change { database in
      try database.execute(
        sql: "INSERT INTO workers (app, name, heard) VALUES (?, ?, ?)", arguments: [app, name, now])
      let number = database.lastInsertedRowID
      // Within the transaction, so that a visible worker always has its lock.
      locks.take(number)
      return WorkerID(number: number, app: app)
    }
  }

  package func renew(_ workerID: WorkerID, at now: Int64) throws -> Bool {
    try file.update(
      "UPDATE workers SET heard = ? WHERE number = ?", [now, workerID.number], canWait: true) == 1
  }

  package func renew(_ workerIDs: [WorkerID], at now: Int64) throws -> Set<WorkerID> {
    try file.change(canWait: true) { database in
      let renewal = try database.cachedStatement(
        sql: "UPDATE workers SET heard = ? WHERE number = ?")
      return try Set(
        workerIDs.filter { workerID in
          try renewal.execute(arguments: [now, workerID.number])
          return database.changesCount == 0
        })
    }
  }

  package func knows(_ workerID: WorkerID) throws -> Bool {
    try file.read { try Self.knows(workerID, $0) }
  }

  static func knows(_ workerID: WorkerID, _ database: Database) throws -> Bool {
    try HotStatement.finds(database, "SELECT 1 FROM workers WHERE number = ?", workerID.number)
  }

  package func leave(_ workerID: WorkerID, line: String, at now: Int64) throws {
    try file.change { database in
      _ = try release(
        database, workerID.number, isAlone: false, at: now, "\(TimeText.of(now)) \(line)")
    }
    locks.drop(workerID.number)
    // Its own commits are no news to this process.
    news.tell()
  }

  package func reclaim(silentSince: Int64, at now: Int64) throws -> Int {
    let isAnyoneSilent = try file.read { database in
      var workers = try HotStatement(database, "SELECT number, heard FROM workers")
      while try workers.step() {
        if workers.int(1) < silentSince || !locks.isTaken(workers.int(0)) { return true }
      }
      return false
    }
    guard isAnyoneSilent else { return 0 }
    let count = try file.change { database in
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

  package func workers(app: String, at now: Int64) throws -> [RegisteredWorker] {
    try file.counting.read { database in
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
    try SQLiteClaims(database: database).end(of: worker)
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
}
