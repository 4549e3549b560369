import Foundation
import GRDB

/// A queue's file, read without changing it. A program that writes is never blocked.
final class SQLiteReader: QueueReading {
  private let file: String
  private let database: DatabaseQueue
  private let inode: UInt64?

  init(_ file: String) throws {
    self.file = file
    var options = Configuration()
    options.readonly = true
    options.busyMode = .timeout(10)
    inode = SQLiteFile.number(of: file)
    do {
      database = try DatabaseQueue(path: file, configuration: options)
      let lack = try database.read { try SQLiteMigration.lack($0) }
      if let lack { throw RelayFault("\(file): it lacks \(lack): an older relay has written it") }
    } catch let error as DatabaseError {
      throw RelayFault(file: file, error)
    }
  }

  private func read<Value>(_ act: (Database) throws -> Value) throws -> Value {
    guard SQLiteFile.number(of: file) == inode else {
      throw RelayFault("\(file): it was removed or replaced", isFinal: true)
    }
    do {
      return try database.read(act)
    } catch let error as DatabaseError {
      throw RelayFault(file: file, error)
    }
  }

  func outcomes(_ filter: OutcomeFilter, app: String, after number: String) throws -> OutcomePage {
    try read { try Self.outcomes($0, filter, app: app, after: number) }
  }

  func deadLetters(app: String, ids: Set<String>, after number: String, most: Int) throws
    -> [DeadLetter]
  {
    try read { try Self.deadLetters($0, app: app, ids: ids, after: number, most: most) }
  }

  // MARK: Rows

  /// How many rows a page has, and how many it looks at: a long read would let the WAL grow.
  private static let (most, widest): (Int, Int64) = (1000, 50_000)

  static func outcomes(
    _ database: Database, _ filter: OutcomeFilter, app: String, after number: String
  ) throws -> OutcomePage {
    guard let given = Int64(number) else {
      throw RelayFault("'\(number)' is not the number of an outcome", isFinal: true)
    }
    let ends = try Row.fetchOne(
      database, sql: "SELECT (SELECT min(number) FROM outcomes), (SELECT max(number) FROM outcomes)"
    )
    guard let first: Int64 = ends?[0], let last: Int64 = ends?[1], last > given else {
      return OutcomePage(last: number, isEnd: true)
    }
    let after = max(given, first - 1)
    let end = last - after > widest ? after + widest : last
    var sql = """
      SELECT number, id, position, token, outcome, reason, http_status, apns_id, deliveries, at,
        traceparent
      FROM outcomes WHERE number > ? AND number <= ? AND app = ?
      """
    var values: [(any DatabaseValueConvertible)?] = [after, end, app]
    if !filter.ids.isEmpty {
      sql +=
        " AND entry IN (SELECT entry FROM ids WHERE app = ? AND id IN (\(marks(filter.ids.count))))"
      values += [app] + filter.ids.sorted()
    }
    if let kinds = filter.kinds {
      sql += " AND (outcome IN (\(marks(kinds.count))) OR http_status = ?)"
      values += kinds.map(\.rawValue).sorted()
      values.append(filter.wantsGone ? 410 : -1)
    }
    let found = try Row.fetchAll(
      database, sql: sql + " ORDER BY number LIMIT \(most)", arguments: StatementArguments(values))
    let rows = found.map { row in
      var outcome = PushOutcome(
        position: row["position"], token: WrittenToken(row["token"]),
        kind: PushOutcome.Kind(rawValue: row["outcome"]) ?? .unknown, reason: row["reason"])
      outcome.httpStatus = row["http_status"]
      outcome.apnsID = PushID(row["apns_id"])
      return OutcomeRow(
        number: "\(row["number"] as Int64)", id: row["id"], deliveries: row["deliveries"],
        at: row["at"], outcome: outcome, traceparent: row["traceparent"])
    }
    let isFull = rows.count == most
    return OutcomePage(
      rows: rows, last: isFull ? rows.last!.number : "\(end)", isEnd: !isFull && end == last)
  }

  private static func marks(_ count: Int) -> String {
    repeatElement("?", count: count).joined(separator: ", ")
  }

  /// The devices of a dead letter that a retry pushes to, see `DeadLetter`.
  static let devices = """
    CASE WHEN typeof(id) <> 'text' OR length(id) NOT BETWEEN 1 AND \(NewEntry.longestID) THEN 0
    ELSE (SELECT count(*) FROM outcomes
      WHERE entry = dead.number AND outcomes.id = dead.id AND outcome = 'dead')
    END
    """

  static func deadLetters(
    _ database: Database, app: String, ids: Set<String>, after number: String, most: Int
  ) throws -> [DeadLetter] {
    var sql = """
      SELECT number, CAST(id AS TEXT) AS id, lane, deliveries, history, at, \(devices) AS devices
      FROM dead WHERE app = ? AND number > ?
      """
    var values: [(any DatabaseValueConvertible)?] = [app, Int64(number) ?? 0]
    if !ids.isEmpty {
      sql += " AND id IN (\(marks(ids.count)))"
      values += ids.sorted()
    }
    return try Row.fetchAll(
      database, sql: sql + " ORDER BY number LIMIT \(most)", arguments: StatementArguments(values)
    ).map { row in
      DeadLetter(
        number: "\(row["number"] as Int64)", id: row["id"],
        lane: Lane(rawValue: row["lane"]) ?? .normal, deliveries: row["deliveries"],
        history: row["history"] ?? "", at: row["at"], devices: row["devices"])
    }
  }
}
