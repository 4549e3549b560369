import GRDB

/// Claims of new entries, each of a range, because that changes none of their rows. Used within a
/// transaction. A claimed entry that does not just end gets its worker written into its row.
struct SQLiteClaims {
  let database: Database

  /// New entries of app ?1 and lane ?2 after this number are free.
  static let last = """
    coalesce((SELECT last FROM claims WHERE app = ?1 AND lane = ?2 ORDER BY first DESC LIMIT 1), 0)
    """
  /// The entry is one of the claim.
  static let isIn = """
    entries.app = claims.app AND entries.lane = claims.lane AND number BETWEEN first AND last
      AND entries.worker IS NULL AND due = 0
    """
  private static let write = """
    UPDATE entries SET worker = ?1, deliveries = deliveries + 1
    WHERE worker IS NULL AND number IN (SELECT number FROM held WHERE worker = ?1
    """

  /// Claims the free entries from the first of these numbers to the last.
  func add(_ numbers: ClosedRange<Int64>, _ lane: Lane, _ workerID: WorkerID) throws {
    var extend = try HotStatement(
      database,
      """
      UPDATE claims SET last = ?3 WHERE app = ?1 AND lane = ?2 AND worker = ?4
        AND first = (SELECT max(first) FROM claims WHERE app = ?1 AND lane = ?2)
      """)
    try extend.run(workerID.app, lane.rawValue, numbers.upperBound, workerID.number)
    if database.changesCount > 0 { return }
    var add = try HotStatement(
      database, "INSERT INTO claims (app, lane, first, last, worker) VALUES (?, ?, ?, ?, ?)")
    try add.run(
      workerID.app, lane.rawValue, numbers.lowerBound, numbers.upperBound, workerID.number)
  }

  /// Writes the entry's worker into its row, if it is one of that worker's claims.
  func write(_ entry: Int64, of worker: Int64) throws {
    var write = try HotStatement(database, "\(Self.write) AND number = ?2)")
    try write.run(worker, entry)
  }

  /// Writes the worker into all of its entries' rows.
  func end(of worker: Int64) throws {
    try database.execute(sql: "\(Self.write))", arguments: [worker])
    try database.execute(sql: "DELETE FROM claims WHERE worker = ?", arguments: [worker])
  }

  /// Removes the worker's claims of which no entry is left.
  func trim(of worker: Int64) throws {
    var trim = try HotStatement(
      database,
      """
      DELETE FROM claims WHERE worker = ?
        AND NOT EXISTS (SELECT 1 FROM entries WHERE \(Self.isIn))
      """)
    try trim.run(worker)
  }
}
