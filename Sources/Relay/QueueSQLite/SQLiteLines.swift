import GRDB

/// For each device, or channel, of an app the entries that wait for it, in the order in which they
/// came. It is used within a transaction. A trigger ends what an entry has in it.
struct SQLiteLines {
  private let database: Database
  private let app: String

  init(_ database: Database, _ app: String) {
    self.database = database
    self.app = app
  }

  /// Whether there is no earlier entry in any of these lines. It stands in all of them from now on.
  func isFirst(_ entry: Int64, in targets: Set<String>) throws -> Bool {
    var isFirst = true
    for target in targets {
      var add = try HotStatement(
        database, "INSERT OR IGNORE INTO lines (app, target, entry) VALUES (?, ?, ?)")
      add.bind(app)
      add.bind(target)
      add.bind(entry)
      try add.run()
      var first = try HotStatement(
        database, "SELECT 1 FROM lines WHERE app = ? AND target = ? AND entry < ? LIMIT 1")
      first.bind(app)
      first.bind(target)
      first.bind(entry)
      if try first.step() { isFirst = false }
    }
    return isFirst
  }

  /// They wait until an earlier one ends.
  func holdBack(_ entries: [Int64]) throws {
    var hold = try HotStatement(
      database, "UPDATE entries SET due = \(SQLiteSchema.heldBack) WHERE number = ?")
    for entry in entries {
      hold.bind(entry)
      try hold.run()
    }
  }
}
