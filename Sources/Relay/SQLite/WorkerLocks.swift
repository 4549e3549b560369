import Glibc

/// A file with one locked byte for each worker. The kernel drops the lock with the process, so that
/// others notice its end immediately, without waiting for its lease to expire.
final class WorkerLocks: @unchecked Sendable {
  private static let setLock: CInt = 37
  private static let getLock: CInt = 36

  private let own: CInt
  /// Locks of one open file description never conflict with themselves, so probing uses a second
  /// open().
  private let asking: CInt

  init?(_ path: String) {
    own = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    asking = open(path, O_RDWR | O_CLOEXEC)
    guard own >= 0, asking >= 0 else {
      if own >= 0 { close(own) }
      if asking >= 0 { close(asking) }
      return nil
    }
  }

  deinit {
    close(own)
    close(asking)
  }

  func take(_ number: Int64) { _ = call(own, Self.setLock, F_WRLCK, number) }
  func drop(_ number: Int64) { _ = call(own, Self.setLock, F_UNLCK, number) }

  /// Whether a running process holds the lock. True if the file system cannot report it.
  func isTaken(_ number: Int64) -> Bool {
    call(asking, Self.getLock, F_WRLCK, number).map { $0 != F_UNLCK } ?? true
  }

  private func call(_ file: CInt, _ command: CInt, _ type: Int32, _ number: Int64) -> Int32? {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = Int(number)
    lock.l_len = 1
    return fcntl(file, command, &lock) == 0 ? Int32(lock.l_type) : nil
  }
}
