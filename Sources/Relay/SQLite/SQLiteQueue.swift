import Foundation
import GRDB
import Synchronization

/// The queue in a SQLite file, for any number of processes on one machine.
package final class SQLiteQueue: QueueEngine {
  let file: SQLiteFile
  let locks: WorkerLocks
  let news = QueueNews()
  /// nil before anyone watches.
  let follower = Mutex<SQLiteNews?>(nil)

  /// Opens the file and creates missing tables.
  package init(_ path: String, sync: QueueSync = .process) throws {
    file = try SQLiteFile(path, sync: sync)
    guard let locks = WorkerLocks(path + "-workers") else {
      throw RelayFault("\(path)-workers: \(String(cString: strerror(errno)))")
    }
    self.locks = locks
  }

  package var isHeldUp: Bool { file.busy.isHeldUp }
  package func hurry() { file.busy.hurry() }
  package var keepsRoom: Bool { true }
  package func keepRoom() { file.keepRoom() }

  package func check() throws {
    try file.change(canWait: true) { database in
      // A write that changes no row.
      try database.execute(sql: "DELETE FROM workers WHERE number = -1")
      _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM entries WHERE number = 0")
    }
    try file.demandFile()
    try file.demandRoom(for: 0)
  }

  package func known(_ ids: [String], app: String) throws -> [String: KnownEntry] {
    try file.read { database in
      var all: [String: KnownEntry] = [:]
      for id in ids {
        var outcomes = try HotStatement(
          database,
          """
          SELECT token, outcome, reason, http_status, apns_id FROM outcomes
          WHERE entry = (SELECT entry FROM ids WHERE app = ? AND id = ?) AND position = 0
          """, app, id)
        if try outcomes.step() {
          var outcome = PushOutcome(
            position: 0, token: WrittenToken(outcomes.text(0) ?? ""),
            kind: PushOutcome.Kind(rawValue: outcomes.text(1) ?? "") ?? .unknown,
            reason: outcomes.text(2) ?? "")
          outcome.httpStatus = Int(outcomes.int(3))
          outcome.apnsID = PushID(outcomes.text(4) ?? "")
          if outcome.httpStatus == 410 {
            var gone = try HotStatement(
              database, "SELECT since FROM gone WHERE app = ? AND token = ?", app,
              outcome.token.text)
            if try gone.step() { outcome.goneSince = gone.int(0) }
          }
          all[id] = KnownEntry(outcome: outcome)
          continue
        }
        var entries = try HotStatement(
          database,
          """
          SELECT coalesce(token, channel) FROM entries
          WHERE number = (SELECT entry FROM ids WHERE app = ? AND id = ?)
          """, app, id)
        if try entries.step() { all[id] = KnownEntry(target: entries.text(0)) }
      }
      return all
    }
  }
}
