import Foundation
import GRDB

/// The provider token that all relays on the file share. Signing may take long, so it happens
/// outside a transaction, and the relay that signs leaves a marker for the others.
extension SQLiteQueue {
  /// A marker with a later limit was written while the clock was ahead.
  private static let longestMS: Int64 = 600_000

  package func providerToken(
    team: String, key: String, madeAfter oldest: Int64, at now: Int64, within makingMS: Int64,
    make: () throws -> SharedToken
  ) throws -> SharedToken {
    let marker = "maker of the provider token \(team) \(key)"
    let mark = UUID().uuidString
    let began = RelayClock.monotonic
    let limit = began + 2 * makingMS
    while true {
      // The caller's `now` is old after a wait for another relay.
      let waited = RelayClock.monotonic - began
      let (token, isOurs) = try file.change { database -> (SharedToken?, Bool) in
        if let token = try Self.stored(database, team, key, oldest, now + waited) {
          return (token, false)
        }
        let time = RelayClock.now
        let maker = try Self.state(database, marker, "")
        let until = maker.flatMap { Int64($0.prefix { $0 != " " }) } ?? 0
        if until > time, until < time + Self.longestMS { return (nil, false) }
        try Self.setState(database, marker, "\(time + makingMS) \(mark)", "")
        return (nil, true)
      }
      if let token { return token }
      if isOurs {
        let made = Result { try make() }
        let isStored = try file.change { database in
          // Another relay may have taken over since.
          try database.execute(
            sql: "DELETE FROM app_state WHERE app = '' AND name = ? AND text LIKE ?",
            arguments: [marker, "% \(mark)"])
          guard database.changesCount == 1, case .success(let token) = made else { return false }
          try database.execute(
            sql: """
              INSERT OR REPLACE INTO provider_tokens (team, key, token, made) VALUES (?, ?, ?, ?)
              """, arguments: [team, key, token.text, token.made])
          return true
        }
        let token = try made.get()
        if isStored { return token }
      } else {
        usleep(20_000)
      }
      if RelayClock.monotonic > limit {
        throw RelayFault(
          "another relay has been making the provider token for \(2 * makingMS / 1000) s")
      }
    }
  }

  private static func stored(
    _ database: Database, _ team: String, _ key: String, _ oldest: Int64, _ now: Int64
  ) throws -> SharedToken? {
    let row = try Row.fetchOne(
      database, sql: "SELECT token, made FROM provider_tokens WHERE team = ? AND key = ?",
      arguments: [team, key])
    guard let row else { return nil }
    let token = SharedToken(text: row[0], made: row[1])
    return token.isFresh(after: oldest, at: now) ? token : nil
  }
}
