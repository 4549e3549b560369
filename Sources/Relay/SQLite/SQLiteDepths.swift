import GRDB

extension SQLiteQueue {
  package func depths(at now: Int64) throws -> [String: QueueDepth] {
    try file.counting.read { database in
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
}
