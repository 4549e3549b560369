import GRDB

/// The entries that wait for each device or channel of an app, in queue order. Used within a
/// transaction. A trigger removes the rows of an entry.
struct SQLiteLines {
  let database: Database
  let app: String

  /// Adds the entry to all of these lines. True if none of them has an earlier entry.
  func isFirst(_ entry: Int64, in targets: Set<String>) throws -> Bool {
    var isFirst = true
    for target in targets {
      var add = try HotStatement(
        database, "INSERT OR IGNORE INTO lines (app, target, entry) VALUES (?, ?, ?)")
      try add.run(app, target, entry)
      let isBehind = try HotStatement.finds(
        database, "SELECT 1 FROM lines WHERE app = ? AND target = ? AND entry < ? LIMIT 1", app,
        target, entry)
      if isBehind { isFirst = false }
    }
    return isFirst
  }

  /// Blocks these entries until an earlier one ends.
  func block(_ entries: [Int64]) throws {
    var hold = try HotStatement(
      database, "UPDATE entries SET due = \(SQLiteSchema.blocked) WHERE number = ?")
    for entry in entries { try hold.run(entry) }
  }
}
