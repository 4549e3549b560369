import Foundation
import GRDB

/// Keeps the queue usable on a small or full file system.
extension SQLiteFile {
  /// The bytes that any transaction of the relay changes.
  private static let margin: Int64 = 256 << 10
  private static let pageSize: Int64 = 4096
  private static let mostPages: Int64 = 8000
  private static let fewestPages: Int64 = 64

  func keepRoom() {
    adaptToRoom()
    if room.look()?.isAmple == false { _ = checkpoint() }
    room.keepReserve()
  }

  /// Checkpoints sooner if there is less space, so that the WAL restarts.
  func adaptToRoom() {
    let all = room.look()?.all ?? .max
    let pages = max(Self.fewestPages, min(Self.mostPages, all / Self.pageSize / 16))
    guard checkpointPages.exchange(Int(pages), ordering: .relaxed) != Int(pages) else { return }
    try? database.inDatabase { database in
      try database.execute(
        sql: """
          PRAGMA wal_autocheckpoint = \(pages);
          PRAGMA journal_size_limit = \(2 * pages * Self.pageSize)
          """)
    }
  }

  /// Releases as much of the reserve as the WAL's checkpoint needs, and checkpoints. False if it
  /// needs more than there is, and would only use the reserve up.
  func makeRoom() -> Bool {
    guard let found = room.look(), let owed = try? pages().owed, found.all > owed else {
      return false
    }
    room.giveUp(owed)
    return checkpoint()
  }

  /// Checkpoints the WAL, and truncates it if no reader uses it. False if there was no space.
  private func checkpoint() -> Bool {
    do {
      try database.inDatabase { database in
        try busy.withoutPatience {
          try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
      }
      return true
    } catch let error as DatabaseError {
      return !error.lacksRoom
    } catch {
      return true
    }
  }

  /// The bytes by which a full checkpoint extends the file, and the bytes unused within the file.
  private func pages() throws -> (owed: Int64, unused: Int64) {
    try read { database in
      func number(_ name: String) throws -> Int64 {
        try Int64.fetchOne(database, sql: "PRAGMA \(name)") ?? 0
      }
      let size = try number("page_size")
      var status = stat()
      let length = stat(path, &status) == 0 ? Int64(status.st_size) : 0
      return try (
        max(0, number("page_count") * size - length), number("freelist_count") * size
      )
    }
  }

  /// Throws if a write of this many bytes would need the reserve.
  func demandRoom(for bytes: Int) throws {
    for isLast in [false, true] {
      guard let found = room.look(), !found.isAmple else { return }
      let (owed, unused) = try pages()
      // Space is needed in the WAL and in the file.
      let bytes = Int64(bytes)
      let wanted = 2 * bytes + max(0, bytes - unused) + Self.margin + owed
      if found.beyondReserve >= wanted { return }
      if isLast {
        throw RelayFault(
          "\(path): \(max(0, found.beyondReserve) / 1024) KB are free on its file "
            + "system; it accepts more entries from \(wanted / 1024) KB on",
          lacksRoom: true)
      }
      _ = checkpoint()
    }
  }

  /// The bytes available for the outcomes of entries that are claimed now.
  func roomToRecord() throws -> Int64 {
    for isLast in [false, true] {
      guard let found = room.look(), !found.isAmple else { return .max }
      let held = try read { database in
        var held = try HotStatement(
          database,
          "SELECT count(*), coalesce(sum(length(tokens)), 0) / 67 FROM held JOIN entries USING (number)"
        )
        _ = try held.step()
        return Self.cost(entries: held.int(0), notifications: held.int(0) + held.int(1))
      }
      let left = try found.all - pages().owed - Self.margin - held
      // Held entries free space when they end.
      if left > 0 || held > 0 || isLast { return max(0, left) }
      _ = checkpoint()
    }
    return 0
  }

  /// The pages of the entries and their indexes, and the outcomes.
  static func cost(entries: Int64, notifications: Int64) -> Int64 {
    entries * (12 << 10) + notifications * (1 << 10)
  }

  var tooLittleRoom: RelayFault {
    RelayFault(
      "\(path): \((room.look()?.all ?? 0) / 1024) KB are free on its file system, "
        + "which is too little to record more outcomes", lacksRoom: true)
  }
}

extension DatabaseError {
  /// The errors of a full file system and of an exceeded quota.
  var lacksRoom: Bool {
    resultCode == .SQLITE_FULL
      || [.SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMSIZE].contains(extendedResultCode)
  }
}

extension RelayFault {
  init(file: String, _ error: DatabaseError) {
    lacksRoom = error.lacksRoom
    var system = statvfs()
    let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
    let isSeen = statvfs(file, &system) == 0 || statvfs(directory, &system) == 0
    let isReadOnly = isSeen && system.f_flag & UInt(ST_RDONLY) != 0
    // SQLite creates more files in the same directory.
    let isRefused = [file, directory].contains { (path: String) in
      access(path, R_OK | W_OK) != 0 && errno == EACCES
    }
    let isOfSystem = [ResultCode.SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_IOERR].contains(
      error.resultCode)
    let words =
      switch error.resultCode {
      case _ where isOfSystem && isReadOnly:
        "its file system is mounted read-only; for a service, ReadWritePaths= names its directory"
      case _ where isOfSystem && isRefused:
        "this user may not write it, or not create files next to it"
      case _ where error.lacksRoom: "no space is left on its file system"
      case .SQLITE_BUSY: "another program has locked it for too long"
      default: error.message ?? "\(error)"
      }
    description = "\(file): \(words)"
  }
}
