import GRDB

extension SQLiteQueue {
  package func shareConnections(
    _ seat: WorkerSeat, held: Int, wanted: Int, isNeeded: Bool, of most: Int
  ) throws -> Int? {
    try change { database in
      // A worker with an expired lease gets no connections until it joins again.
      guard
        try Int.fetchOne(
          database, sql: "SELECT 1 FROM workers WHERE number = ?", arguments: [seat.number]) == 1
      else { return nil }
      var (wants, others) = ([ConnectionShares.Want](), 0)
      let rows = try Row.fetchAll(
        database, sql: "SELECT worker, wanted, needed, held FROM connections WHERE app = ?",
        arguments: [seat.app])
      for row in rows where row[0] != seat.number {
        wants.append(ConnectionShares.Want(worker: row[0], count: row[1], isNeeded: row[2]))
        others += row[3]
      }
      wants.append(
        ConnectionShares.Want(worker: seat.number, count: wanted, isNeeded: isNeeded))
      let share = min(
        ConnectionShares(wants, of: most).share(of: seat.number), max(0, most - others))
      try database.execute(
        sql: """
          INSERT OR REPLACE INTO connections (worker, app, held, wanted, needed)
          VALUES (?, ?, ?, ?, ?)
          """, arguments: [seat.number, seat.app, max(held, share), wanted, isNeeded])
      return share
    }
  }
}
