import Foundation
import Synchronization

/// Notices when other programs change the queue's file, so that an idle relay does not read it.
///
/// A commit writes to the WAL, which inotify reports, and becomes visible a moment later, while its
/// program still has the write lock.
final class SQLiteNews: Sendable {
  /// The kernel reports no changes: then the file is read this often.
  private static let blindMS: CInt = 50
  /// While changes follow one another, the pauses between two looks grow from the first to the last
  /// of these.
  private static let firstPauseUS: UInt32 = 1000
  private static let longestPauseUS: UInt32 = 50_000
  /// A change does not follow another after this time.
  private static let quietUS: Int64 = 5000
  /// While a commit is about to become visible.
  private static let writtenUS: UInt32 = 2000
  private static let endUS: UInt32 = 10_000
  /// Only those of new entries are known. The watches that may read the file in vain are told this
  /// rarely, so that with many apps they do not keep a processor busy.
  private static let perWatchMS: Int64 = 4
  private static let longestMS: Int64 = 10_000

  /// What other connections have committed.
  struct Change {
    var isThere = false
    /// The apps of the first new entries.
    var apps: Set<String> = []
  }

  private static let getLock: CInt = 36
  /// The byte of the write lock in the WAL's index, by SQLite's file format.
  private static let writeLock = 120

  /// Why changes cannot be noticed; nil if they can.
  let fault: String?
  private let news: QueueNews
  private let inotify: CInt
  private let workersWatch: CInt
  /// Never closed: that would drop SQLite's locks.
  private let index: CInt

  init(_ file: String, _ news: QueueNews) {
    var failure: CInt?
    func checked(_ result: CInt) -> CInt {
      if result < 0, failure == nil { failure = errno }
      return result
    }
    self.news = news
    inotify = checked(inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK)))
    _ = checked(inotify_add_watch(inotify, file + "-wal", UInt32(IN_MODIFY)))
    // A process that ends closes the file of its locks.
    workersWatch = checked(
      inotify_add_watch(inotify, file + "-workers", UInt32(IN_CLOSE_WRITE)))
    index = checked(open(file + "-shm", O_RDONLY | O_CLOEXEC))
    fault = failure.map { String(cString: strerror($0)) }
  }

  /// Tells from now on. `change` returns what other connections have committed since its last call;
  /// nil at the end.
  func start(_ change: @escaping @Sendable () -> Change?) {
    Thread.begin("news") { [self] in
      follow(change)
      close(inotify)
    }
  }

  private func follow(_ change: () -> Change?) {
    var pause = Self.firstPauseUS
    // When all may be told again (monotonic).
    var (allFrom, areAllDue): (Int64, Bool) = (0, false)
    while true {
      let hasEnded = drain()
      // The kernel drops its locks a moment after it reports that.
      if hasEnded { usleep(Self.endUS) }
      // Before the look, because a commit that ends in between is visible.
      let isWritten = isBeingWritten
      guard let new = change() else { return }
      for app in new.apps { news.tell([.entries], of: app) }
      areAllDue = areAllDue || new.isThere || hasEnded
      if areAllDue, hasEnded || RelayClock.monotonic >= allFrom {
        news.tell()
        // A single one is not told in vain.
        let restMS = min(Int64(news.count - 1) * Self.perWatchMS, Self.longestMS)
        (allFrom, areAllDue) = (RelayClock.monotonic + restMS, false)
      }
      if isWritten {
        usleep(Self.writtenUS)
        continue
      }
      let began = RelayClock.monotonicMicroseconds
      let restMS = areAllDue ? CInt(clamping: max(0, allFrom - RelayClock.monotonic)) : -1
      wait(fault == nil ? restMS : Self.blindMS)
      if RelayClock.monotonicMicroseconds - began > Self.quietUS {
        pause = Self.firstPauseUS
      } else {
        usleep(pause)
        pause = min(2 * pause, Self.longestPauseUS)
      }
    }
  }

  private func wait(_ milliseconds: CInt) {
    var watched = pollfd(fd: inotify, events: Int16(POLLIN), revents: 0)
    _ = poll(&watched, 1, milliseconds)
  }

  /// Takes all events. Returns whether a process may have ended.
  private func drain() -> Bool {
    var hasEnded = false
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { room in
      while case let count = read(inotify, room.baseAddress, room.count), count > 0 {
        var place = 0
        while place + MemoryLayout<inotify_event>.size <= count {
          let event = room.load(fromByteOffset: place, as: inotify_event.self)
          hasEnded = hasEnded || event.wd == workersWatch
          place += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
    }
    return hasEnded
  }

  /// Whether another process has the write lock.
  private var isBeingWritten: Bool {
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = Self.writeLock
    lock.l_len = 1
    return fcntl(index, Self.getLock, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
      && lock.l_pid != getpid()
  }
}

extension SQLiteQueue {
  package func watch(
    _ part: QueuePart, of app: String, _ tell: @escaping @Sendable () -> Void
  ) -> QueueNews.Watch? {
    let watch = news.watch(part, of: app, tell)
    _ = follow()
    return watch
  }

  /// Begins to follow the file, with the first call.
  private func follow() -> SQLiteNews {
    follower.withLock { follower in
      if let follower { return follower }
      let new = SQLiteNews(file.path, news)
      let last = Mutex<(version: Int64?, entry: Int64)>((nil, .max))
      new.start { [weak self] in
        guard let self else { return nil }
        // Without a version the watches meet the error too.
        let version = try? version()
        return last.withLock { last in
          guard version == nil || version != last.version else { return SQLiteNews.Change() }
          last.version = version
          return SQLiteNews.Change(
            isThere: true, apps: (try? appsOfEntries(after: &last.entry)) ?? [])
        }
      }
      follower = new
      return new
    }
  }

  /// The apps of the first entries after this one, which becomes the last entry.
  private func appsOfEntries(after last: inout Int64) throws -> Set<String> {
    // A single one is told in any case.
    guard news.count > 1 else { return [] }
    var (apps, number): (Set<String>, Int64) = ([], last)
    try file.read { database in
      var new = try HotStatement(
        database, "SELECT number, app FROM entries WHERE number > ? ORDER BY number LIMIT 100", last
      )
      while try new.step() { if let app = new.text(1) { apps.insert(app) } }
      var newest = try HotStatement(database, "SELECT max(number) FROM entries")
      if try newest.step() { number = newest.int(0) }
    }
    last = number
    return apps
  }

  /// Changes with the commits of all other connections.
  private func version() throws -> Int64 {
    try file.read { database in
      var version = try HotStatement(database, "PRAGMA data_version")
      return try version.step() ? version.int(0) : 0
    }
  }

  package var warnings: [String] {
    follow().fault.map {
      ["\(file.path): the kernel reports no changes (\($0)): an idle relay reads it every 50 ms"]
    } ?? []
  }
}
