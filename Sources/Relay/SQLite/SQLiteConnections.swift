import GRDB

extension SQLiteQueue {
  package func leaseConnections(
    _ workerID: WorkerID, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int? {
    try file.change { database in
      // A worker with an expired lease gets no connections until it joins again.
      guard try Self.knows(workerID, database) else { return nil }
      var (wants, others) = ([ConnectionQuotas.Want](), 0)
      let rows = try Row.fetchAll(
        database, sql: "SELECT worker, wanted, needed, held FROM connections WHERE app = ?",
        arguments: [workerID.app])
      for row in rows where row[0] != workerID.number {
        wants.append(ConnectionQuotas.Want(worker: row[0], count: row[1], isNeeded: row[2]))
        others += row[3]
      }
      wants.append(
        ConnectionQuotas.Want(worker: workerID.number, count: wanted, isNeeded: isNeeded))
      let quota = min(
        ConnectionQuotas(wants, of: most).quota(of: workerID.number), max(0, most - others))
      try database.execute(
        sql: """
          INSERT OR REPLACE INTO connections (worker, app, held, wanted, needed)
          VALUES (?, ?, ?, ?, ?)
          """, arguments: [workerID.number, workerID.app, max(held, quota), wanted, isNeeded])
      return quota
    }
  }
}
