import GRDB

/// Dead letters and gone devices under an operator's control.
extension SQLiteQueue {
  package func outcomes(_ filter: OutcomeFilter, app: String, after number: String) throws
    -> OutcomePage
  {
    try file.counting.read { try SQLiteReader.outcomes($0, filter, app: app, after: number) }
  }

  package func deadLetters(app: String, ids: Set<String>, after number: String, most: Int) throws
    -> [DeadLetter]
  {
    try file.counting.read {
      try SQLiteReader.deadLetters($0, app: app, ids: ids, after: number, most: most)
    }
  }

  package func retry(_ letters: [DeadLetter], app: String, at now: Int64) throws -> [String: Int] {
    try file.demandFile()
    let numbers = letters.compactMap { Int64($0.number) }
    try file.demandRoom(for: numbers.reduce(0) { try $0 + weight(of: $1) })
    return try file.change(canWait: true) { database in
      var given: [String: Int] = [:]
      for number in numbers {
        let devices = try Int.fetchOne(
          database, sql: "SELECT \(SQLiteReader.devices) FROM dead WHERE number = ? AND app = ?",
          arguments: [number, app])
        guard let devices, devices > 0 else { continue }
        // Without its ID, because the trigger ignores an entry with a known one.
        try database.execute(
          sql: """
            DELETE FROM ids WHERE (app, id) = (SELECT app, id FROM dead WHERE number = ?)
            """, arguments: [number])
        try database.execute(
          sql: """
            INSERT OR IGNORE INTO entries (app, id, \(SQLiteSchema.content), made, history)
            SELECT app, id, \(SQLiteSchema.content), ?, coalesce(history || char(10), '') || ?
            FROM dead WHERE number = ?
            """, arguments: [now, "\(TimeText.of(now)) \(DeadLetter.givenBack)", number])
        guard database.changesCount == 1 else {
          try database.execute(
            sql: "INSERT INTO ids SELECT app, id, number FROM dead WHERE number = ?",
            arguments: [number])
          continue
        }
        let entry = database.lastInsertedRowID
        try database.execute(
          sql: """
            UPDATE outcomes SET entry = :entry WHERE entry = :letter;
            DELETE FROM outcomes WHERE outcome = 'dead' AND entry = :entry;
            UPDATE campaigns SET devices = devices - :devices WHERE outcome = 'dead'
              AND (app, campaign) = (SELECT app, campaign FROM dead WHERE number = :letter);
            DELETE FROM dead WHERE number = :letter
            """, arguments: ["letter": number, "entry": entry, "devices": devices])
        given["\(number)"] = devices
      }
      return given
    }
  }

  /// The approximate bytes of an entry that comes back.
  private func weight(of letter: Int64) throws -> Int {
    try file.read { database in
      try Int.fetchOne(
        database,
        sql: """
          SELECT length(payload) + coalesce(length(tokens), 0) + coalesce(length(history), 0) + 500
          FROM dead WHERE number = ?
          """, arguments: [letter]) ?? 0
    }
  }

  package func discard(_ letters: [DeadLetter], app: String) throws -> Int {
    try file.change(canWait: true) { database in
      try letters.reduce(0) { count, letter in
        try database.execute(
          sql: "DELETE FROM dead WHERE number = ? AND app = ?", arguments: [letter.number, app])
        return count + database.changesCount
      }
    }
  }

  package func trimDeadLetters(before: Int64) throws -> Int {
    try removeInParts(
      "DELETE FROM dead WHERE number IN (SELECT number FROM dead WHERE at < ? LIMIT 500)", before)
  }

  package func trimGone(before: Int64, at now: Int64) throws -> Int {
    // The time of devices that an older relay recorded begins now.
    _ = try removeInParts(
      """
      UPDATE gone SET at = ? WHERE at = 0 AND (app, token) IN
        (SELECT app, token FROM gone WHERE at = 0 LIMIT 5000)
      """, now)
    return try removeInParts(
      """
      DELETE FROM gone WHERE (app, token) IN
        (SELECT app, token FROM gone WHERE at < ? LIMIT 5000)
      """, before)
  }

  /// Changes a limited number of rows in each transaction, so that other programs can write.
  private func removeInParts(_ sql: String, _ time: Int64) throws -> Int {
    var total = 0
    while true {
      let count = try file.update(sql, [time])
      total += count
      if count == 0 { return total }
    }
  }
}
