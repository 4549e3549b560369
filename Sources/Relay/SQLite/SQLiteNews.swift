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
  /// Each watch may read the file.
  private static let perWatchUS = 50
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

  /// Tells from now on. `hasChanged` returns whether other connections have committed since its last
  /// call; nil at the end.
  func start(_ hasChanged: @escaping @Sendable () -> Bool?) {
    let thread = Thread { [self] in
      follow(hasChanged)
      close(inotify)
    }
    thread.name = "news"
    thread.stackSize = 1 << 19
    thread.start()
  }

  private func follow(_ hasChanged: () -> Bool?) {
    var pause = Self.firstPauseUS
    while true {
      let hasEnded = drain()
      // The kernel drops its locks a moment after it reports that.
      if hasEnded { usleep(Self.endUS) }
      // Before the look, because a commit that ends in between is visible.
      let isWritten = isBeingWritten
      guard let isNew = hasChanged() else { return }
      if isNew || hasEnded { news.tell() }
      if isWritten {
        usleep(Self.writtenUS)
        continue
      }
      let began = RelayClock.monotonicMicroseconds
      wait(fault == nil ? -1 : Self.blindMS)
      if RelayClock.monotonicMicroseconds - began > Self.quietUS {
        pause = max(Self.firstPauseUS, UInt32(clamping: news.count * Self.perWatchUS))
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
      let last = Mutex<Int64?>(nil)
      new.start { [weak self] in
        guard let self else { return nil }
        // Without a version the watches meet the error too.
        let version = try? version()
        return last.withLock { last in
          defer { last = version }
          return version == nil || version != last
        }
      }
      follower = new
      return new
    }
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
