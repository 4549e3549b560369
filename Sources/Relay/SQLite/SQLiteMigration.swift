import GRDB

/// Upgrades the file of an older relay. `SQLiteSchema.tables` creates missing tables, indexes and
/// triggers; a step does the rest. All of it is one transaction.
/// Tests/RelayTests/SQLiteLayoutTests.swift has the layout of every earlier version.
enum SQLiteMigration {
  /// The steps by the version that they lead to. A file's version may be too high for its tables:
  /// relays before version 4 wrote their version into any file, and so does a producer that runs
  /// the output of --print-schema. Each step therefore inspects the tables.
  private static let steps: [(version: Int, take: @Sendable (Database) throws -> Void)] = [
    // Broadcasts: the first files of version 1 have no `channel` column.
    (
      2,
      { database in
        for table in ["entries", "dead"] {
          let names = try columns(of: table, database)
          if names.isEmpty || names.contains("channel") { continue }
          try database.execute(sql: "ALTER TABLE \(table) ADD COLUMN channel TEXT")
        }
      }
    ),
    // The checks, lanes and campaigns of `entries`, which SQLite can change only by a new table, and
    // current names.
    (
      7,
      { database in
        try rebuild(
          "entries", database,
          instead: [
            "made": madeMS, "due": "max(due, 0)",
            "deliveries": "min(max(deliveries, worker IS NOT NULL), 1000000000)",
            "answers": "min(max(answers, 0), 1000000000)",
            "deferrals": "min(max(deferrals, 0), 1000000000)",
          ])
        try rebuild("dead", database, instead: ["made": madeMS])
        try rebuild("gone", database)
        try rebuild("bad_tokens", from: "bad", database)
        try rebuild("app_state", from: "notes", database)
      }
    ),
    // The IDs in their own table, and the entry's number with each outcome. The entries of most
    // outcomes are no longer there: these get a negative number.
    (
      8,
      { database in
        guard try isWithoutIDs(database) else { return }
        try database.execute(
          sql: """
            INSERT OR IGNORE INTO ids SELECT app, id, number FROM entries;
            INSERT OR IGNORE INTO ids SELECT app, id, number FROM dead
              WHERE (app, id) IN (SELECT app, id FROM outcomes) ORDER BY number DESC;
            INSERT OR IGNORE INTO ids SELECT app, id, -number FROM outcomes;
            ALTER TABLE outcomes ADD COLUMN entry INTEGER;
            """)
        try rebuild(
          "outcomes", database,
          instead: [
            "entry":
              "(SELECT entry FROM ids WHERE (ids.app, ids.id) = (apns_moved.app, apns_moved.id))"
          ])
      }
    ),
    // The trace of an outcome.
    (
      9,
      { database in
        let names = try columns(of: "outcomes", database)
        if names.isEmpty || names.contains("traceparent") { return }
        try database.execute(sql: "ALTER TABLE outcomes ADD COLUMN traceparent TEXT")
      }
    ),
  ]

  /// Before version 9 it was in seconds.
  private static let madeMS = "CASE WHEN made < 100000000000 THEN 1000 * max(made, 0) ELSE made END"

  private static func isWithoutIDs(_ database: Database) throws -> Bool {
    let names = try columns(of: "outcomes", database)
    return !names.isEmpty && !names.contains("entry")
  }

  /// Columns that were renamed, and their current names.
  private static let renamed = ["answers": "deferrals", "story": "history"]

  /// Call within a transaction.
  static func run(_ database: Database) throws {
    for step in steps { try step.take(database) }
    try database.execute(sql: SQLiteSchema.tables)
  }

  /// The missing table or column; nil if the file is complete.
  static func lack(_ database: Database) throws -> String? {
    for (table, wanted) in try columnsWanted() {
      let there = try columns(of: table, database)
      if there.isEmpty { return "the table \(table)" }
      if let column = wanted.first(where: { !there.contains($0) }) {
        return "the column \(column) of \(table)"
      }
    }
    return nil
  }

  /// A column that no version of the queue has, and that a migration would lose.
  static func surplus(_ database: Database) throws -> String? {
    let wanted = try columnsWanted()
    for table in ["entries", "dead"] + (try isWithoutIDs(database) ? ["outcomes"] : []) {
      let known = (wanted[table] ?? []) + renamed.keys
      if let column = try columns(of: table, database).first(where: { !known.contains($0) }) {
        return "\(table) has a column \(column)"
      }
    }
    return nil
  }

  /// Kept, because the end of a dispatch queue starts a thread that wakes up every second from then on.
  private static let example = Result { try DatabaseQueue() }

  private static func columnsWanted() throws -> [String: [String]] {
    try example.get().write { database in
      try database.execute(sql: SQLiteSchema.tables)
      let tables = try String.fetchAll(
        database,
        sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      return try Dictionary(
        uniqueKeysWithValues: tables.map { ($0, try columns(of: $0, database)) })
    }
  }

  private static func columns(of table: String, _ database: Database) throws -> [String] {
    try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info('\(table)')")
  }

  /// Copies the rows into a new table, which continues the row numbers. Renames columns, and the
  /// table if it had another name. Does nothing if there is no table to copy.
  private static func rebuild(
    _ table: String, from old: String? = nil, _ database: Database,
    instead values: [String: String] = [:]
  ) throws {
    let old = old ?? table
    let names = try columns(of: old, database)
    guard !names.isEmpty else { return }
    let last = try Int64.fetchOne(
      database,
      sql: """
        SELECT max(seq) FROM sqlite_sequence WHERE name IN ('\(table)', '\(old)')
        """)
    try database.execute(
      sql: "CREATE TABLE apns_moved AS SELECT * FROM \(old); DROP TABLE \(old)")
    try database.execute(sql: SQLiteSchema.tables)
    // The triggers are for new IDs.
    try database.execute(sql: "DROP TRIGGER entries_once")
    try database.execute(sql: "DROP TRIGGER ids_add")
    // Its own times are any.
    try database.execute(sql: "DROP TRIGGER entries_due")
    try database.execute(
      sql: """
        INSERT INTO \(table) (\(names.map { renamed[$0] ?? $0 }.joined(separator: ", ")))
          SELECT \(names.map { values[$0] ?? $0 }.joined(separator: ", ")) FROM apns_moved;
        DROP TABLE apns_moved
        """)
    try database.execute(sql: SQLiteSchema.tables)
    if let last {
      try database.execute(
        sql: "UPDATE sqlite_sequence SET seq = \(last) WHERE name = '\(table)'; "
          + "INSERT INTO sqlite_sequence SELECT '\(table)', \(last) WHERE changes() = 0")
    }
  }
}
