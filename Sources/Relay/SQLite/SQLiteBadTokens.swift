import GRDB

/// Bad tokens, and the values that relays share about an app.
extension SQLiteQueue {
  package func badTokens(app: String, after number: Int64, most: Int) throws -> [BadToken] {
    try file.counting.read { database in
      // The plus makes SQLite search by number, because new tokens are at the end.
      try Row.fetchAll(
        database.cachedStatement(
          sql: """
            SELECT number, token, at FROM bad_tokens WHERE number > ? AND +app = ? ORDER BY number LIMIT ?
            """),
        arguments: [number, app, most]
      ).map { BadToken(number: $0[0], token: $0[1], at: $0[2]) }
    }
  }

  package func recordBadTokens(_ devices: [GoneToken], app: String, at now: Int64) throws {
    try file.change { database in
      for device in devices { try Self.recordToken(database, device, app, at: now) }
    }
  }

  static func recordToken(_ database: Database, _ device: GoneToken, _ app: String, at now: Int64)
    throws
  {
    try database.cachedStatement(
      sql: "INSERT OR REPLACE INTO bad_tokens (app, token, at) VALUES (?, ?, ?)"
    ).execute(arguments: [app, device.token, now])
    try database.cachedStatement(
      sql: """
        INSERT INTO feedback (app, token, since) VALUES (?, ?, ?)
        ON CONFLICT (app, token) DO UPDATE SET since = max(since, excluded.since)
        """
    ).execute(arguments: [app, device.token, device.since])
  }

  package func forgetBadTokens(before: Int64) throws -> Int {
    try file.update("DELETE FROM bad_tokens WHERE at < ?", [before])
  }

  package func feedback(app: String, most: Int) throws -> [GoneToken] {
    try file.counting.read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT token, since FROM feedback WHERE app = ? ORDER BY since, token LIMIT ?",
        arguments: [app, most]
      ).map { GoneToken(token: $0[0], since: $0[1]) }
    }
  }

  package func forgetFeedback(_ told: [GoneToken], app: String) throws {
    // Other programs get a chance to write in between.
    for some in told.parts(of: Self.forgottenAtOnce) {
      try file.change { database in
        var forget = try HotStatement(
          database, "DELETE FROM feedback WHERE app = ? AND token = ? AND since <= ?")
        for device in some { try forget.run(app, device.token, device.since) }
      }
    }
  }

  private static let forgottenAtOnce = 2000

  package func lastResponses(app: String, most: Int) throws -> [RecordedResponse] {
    try file.counting.read { database in
      // By number and with a limit, because outcomes of other apps are in between.
      try Row.fetchAll(
        database,
        sql: """
          SELECT http_status, reason
          FROM (SELECT app, http_status, reason FROM outcomes ORDER BY number DESC LIMIT ?)
          WHERE app = ? AND http_status > 0 LIMIT ?
          """,
        arguments: [20 * most, app, most]
      ).reversed().map { RecordedResponse(httpStatus: $0[0], reason: $0[1]) }
    }
  }

  package func appState(_ name: String, app: String) throws -> String? {
    try file.counting.read { try Self.state($0, name, app) }
  }

  package func replaceAppState(
    _ name: String, _ old: String?, by text: String, app: String
  ) throws -> Bool {
    try file.change { database in
      guard try Self.state(database, name, app) == old else { return false }
      try Self.setState(database, name, text, app)
      return true
    }
  }

  package func setAppState(_ name: String, _ text: String?, app: String) throws {
    try file.change { database in
      if let text { return try Self.setState(database, name, text, app) }
      try database.execute(
        sql: "DELETE FROM app_state WHERE app = ? AND name = ?", arguments: [app, name])
    }
  }

  static func state(_ database: Database, _ name: String, _ app: String) throws -> String? {
    try String.fetchOne(
      database.cachedStatement(sql: "SELECT text FROM app_state WHERE app = ? AND name = ?"),
      arguments: [app, name])
  }

  static func setState(
    _ database: Database, _ name: String, _ text: String, _ app: String
  ) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO app_state (app, name, text) VALUES (?, ?, ?)",
      arguments: [app, name, text])
  }
}
