import CSQLite
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The file of a queue: its tables, its transactions, and the space that they need.
final class SQLiteFile: Sendable {
  let path: String
  let database: DatabaseQueue
  /// Reads while `database` writes.
  let counting: DatabaseQueue
  let room: QueueRoom
  let busy = BusyWait()
  /// The number of WAL pages after which SQLite checkpoints.
  let checkpointPages = Atomic(0)
  /// The inode of the open WAL.
  private let wal: UInt64?

  /// Nobody reads how much memory SQLite uses, and each allocation would take a lock for it. No
  /// effect after SQLite was used.
  private static let countsNoMemory = apns_sqlite_count_no_memory()

  /// Opens the file and creates missing tables.
  init(_ path: String, sync: QueueSync) throws {
    _ = Self.countsNoMemory
    var options = Configuration()
    options.busyMode = .callback { [busy] in busy.wait($0) }
    options.maximumReaderCount = 1
    options.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA synchronous = \(sync == .power ? "FULL" : "NORMAL");
          PRAGMA cache_size = -8000
          """)
    }
    Self.makePrivate(path)
    self.path = path
    room = QueueRoom(path)
    do {
      database = try DatabaseQueue(path: path, configuration: options)
      try Self.prepare(database, path)
      options.readonly = true
      // It reads many pages at long intervals, and each page once.
      options.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -1000") }
      counting = try DatabaseQueue(path: path, configuration: options)
    } catch let error as DatabaseError {
      throw RelayFault(file: path, error)
    }
    wal = Self.number(of: path + "-wal")
    adaptToRoom()
  }

  /// Creates the file with mode 0600, because it holds provider tokens; SQLite gives its other
  /// files the same mode. An existing file keeps its mode and is not opened here, because closing
  /// it would drop SQLite's locks.
  private static func makePrivate(_ file: String) {
    let descriptor = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if descriptor >= 0 { close(descriptor) }
  }

  private static func prepare(_ database: DatabaseQueue, _ file: String) throws {
    try database.inDatabase { database in
      func number(_ name: String) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
      }
      func fault(_ words: String) -> RelayFault { RelayFault("\(file): \(words)") }
      let version = try number("user_version")
      let hasEntries = try database.tableExists("entries")
      guard version <= SQLiteSchema.version else {
        throw fault(
          "queue version \(version) is of a newer relay; "
            + "this one supports up to \(SQLiteSchema.version)")
      }
      guard try number("application_id") == (version == 0 ? 0 : SQLiteSchema.applicationID),
        version > 0 || !hasEntries
      else { throw fault("it is a database of another program, not a relay queue") }
      if version == SQLiteSchema.version, try SQLiteMigration.lack(database) == nil { return }
      if let surplus = try SQLiteMigration.surplus(database) {
        throw fault("\(surplus), which no queue version has: the file was not changed")
      }
      // SQLite does not wait for another process that does the same now.
      for attempt in 1... {
        do {
          try database.execute(sql: "PRAGMA journal_mode = WAL")
          return try database.inTransaction(.immediate) {
            // Another process may have migrated the file since, or a newer relay may have.
            if try number("user_version") <= SQLiteSchema.version {
              try SQLiteMigration.run(database)
            }
            if let lack = try SQLiteMigration.lack(database) { throw fault("it lacks \(lack)") }
            return .commit
          }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY && attempt < 500 {
          if database.isInsideTransaction { try database.rollback() }
          usleep(10_000)
        }
      }
    }
  }

  /// Runs `act` in a transaction. If space runs out, releases the reserve for it, unless it can
  /// wait.
  func change<Value>(
    canWait: Bool = false, _ act: (Database) throws -> Value
  ) throws -> Value {
    func attempt() throws -> Value {
      var value: Value?
      try database.inTransaction(.immediate) { database in
        value = try act(database)
        return .commit
      }
      return value!
    }
    do {
      do {
        return try attempt()
      } catch let error as DatabaseError where error.lacksRoom && !canWait {
        guard makeRoom() else { throw error }
        // Takes freed space back for the reserve before other programs use it.
        defer { room.keepReserve() }
        return try attempt()
      }
    } catch let error as DatabaseError {
      throw RelayFault(file: path, error)
    }
  }

  /// Runs a statement in a transaction. Returns the number of rows that it changed.
  func update(
    _ sql: String, _ arguments: StatementArguments, canWait: Bool = false
  ) throws -> Int {
    try change(canWait: canWait) { database in
      try database.execute(sql: sql, arguments: arguments)
      return database.changesCount
    }
  }

  func read<Value>(_ act: (Database) throws -> Value) throws -> Value {
    do {
      return try database.unsafeRead(act)
    } catch let error as DatabaseError {
      throw RelayFault(file: path, error)
    }
  }

  static func number(of file: String) -> UInt64? {
    var status = stat()
    return stat(file, &status) == 0 ? UInt64(status.st_ino) : nil
  }

  /// Throws if the file was removed or replaced: writes to the old one would be lost.
  func demandFile() throws {
    var hasMoved: CInt = 0
    try database.unsafeRead {
      _ = sqlite3_file_control($0.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    }
    let name =
      hasMoved != 0 ? "" : wal != nil && Self.number(of: path + "-wal") != wal ? "-wal" : nil
    if let name {
      throw RelayFault(
        "\(path)\(name): it was removed or replaced while the relay had it open; "
          + "restore that file, or restart the relay with the other one")
    }
  }
}
