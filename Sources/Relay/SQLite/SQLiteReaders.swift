import GRDB

extension SQLiteQueue {
  package func reader(_ name: String, app: String) throws -> String? {
    try file.read { try Self.place(of: name, $0) }
  }

  private static func place(of name: String, _ database: Database) throws -> String? {
    try Int64.fetchOne(
      database, sql: "SELECT number FROM readers WHERE name = ?", arguments: [name]
    ).map { "\($0)" }
  }

  package func moveReader(
    _ name: String, app: String, from old: String?, to number: String?
  ) throws -> Bool {
    try file.change { database in
      guard try Self.place(of: name, database) == old else { return false }
      if let number = number.flatMap({ Int64($0) }) {
        try database.execute(
          sql: "INSERT OR REPLACE INTO readers (name, number) VALUES (?, ?)",
          arguments: [name, number])
      } else {
        try database.execute(sql: "DELETE FROM readers WHERE name = ?", arguments: [name])
      }
      return true
    }
  }

  package func lastOutcome(app: String) throws -> String {
    try file.read { "\(try Int64.fetchOne($0, sql: "SELECT max(number) FROM outcomes") ?? 0)" }
  }
}
