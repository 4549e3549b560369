import CAPNS
import CSystem

/// The file by which the processes of this machine share a provider token. Nothing here fails a
/// call: a file that cannot be used, or is not the user's own, counts for nothing.
struct TokenCache: ~Copyable {
  /// The directory, the file, and the file that is locked; each ends in NUL.
  private let names: UnsafeMutablePointer<CChar>
  private let directory: Int
  private let lockName: Int

  private static let maximum = 4000

  /// The caller did not name the file, so the session reports nothing if it cannot be used.
  let isDefault: Bool

  /// Nil if there are no tokens to share, or the options want no file.
  @inline(never)
  init?(_ options: apns_credentials_options_t) throws(Failure) {
    let given = options.token_cache_file
    let named = given ?? Self.variable("APNS_TOKEN_CACHE")
    if let named, Self.isOff(named) { return nil }
    // Only tokens that are signed here have them.
    guard let key = options.key_id, let team = options.team_id else {
      if given == nil { return nil }
      throw Failure(
        APNS_ERR_ARGUMENT,
        options.token_callback != nil
          ? "a token_cache_file is for tokens that are signed here, not for a token_callback"
          : "a token_cache_file is given without a token_key")
    }
    if let given, !(1...Self.maximum ~= strlen(given)) {
      throw Failure(APNS_ERR_ARGUMENT, "token_cache_file is not the name of a file")
    }
    var place = named ?? Self.variable("XDG_RUNTIME_DIR")
    if named == nil, place?.pointee != 0x2F { place = nil }
    guard let names = csystem_token_names(place, given == nil ? 1 : 0, team, key) else {
      throw .outOfMemory
    }
    self.names = names
    directory = strlen(names) &+ 1
    lockName = directory &+ strlen(names + directory) &+ 1
    isDefault = named == nil
  }

  deinit { free(names) }

  private static func isOff(_ path: UnsafePointer<CChar>) -> Bool {
    path[0] == 0x6F && path[1] == 0x66 && path[2] == 0x66 && path[3] == 0
  }

  /// A variable of the environment; nil if it is empty, and in a setuid program.
  @inline(never)
  private static func variable(_ name: StaticString) -> UnsafePointer<CChar>? {
    let text = secure_getenv(UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self))
    guard let text, text.pointee != 0 else { return nil }
    return UnsafePointer(text)
  }

  /// Opens the directory; nil if it is not one in which only this user writes.
  @inline(never)
  func open(_ report: inout TokenReport) -> OpenTokenCache? {
    let descriptor = csystem_open_directory(names)
    guard descriptor >= 0 else {
      report.note("its directory cannot be opened", isOfSystem: true)
      return nil
    }
    var found = csystem_file_t()
    guard csystem_inspect(descriptor, &found) == 1, found.is_directory != 0,
      found.owner == geteuid() || found.owner == 0, found.permissions & 0o022 == 0
    else {
      report.note("its directory belongs to another user, or others can write in it")
      _ = close(descriptor)
      return nil
    }
    return OpenTokenCache(
      directory: descriptor, file: UnsafePointer(names + directory),
      lockFile: UnsafePointer(names + lockName))
  }
}

/// The directory of a token cache while it is used, and its lock if this process has it.
struct OpenTokenCache: ~Copyable {
  private let directory: CInt
  private let file: UnsafePointer<CChar>
  private let lockFile: UnsafePointer<CChar>
  private var lock: CInt = -1

  /// How long another process may take to sign. It takes a millisecond, unless it is stopped.
  private static let timeout: Nanoseconds = 100_000_000

  init(directory: CInt, file: UnsafePointer<CChar>, lockFile: UnsafePointer<CChar>) {
    self.directory = directory
    self.file = file
    self.lockFile = lockFile
  }

  deinit { Self.drop(directory, lock) }

  @inline(never)
  private static func drop(_ directory: CInt, _ lock: CInt) {
    if lock >= 0 {
      csystem_unlock(lock)
      _ = close(lock)
    }
    _ = close(directory)
  }

  /// A regular file of this user that others can neither read nor write.
  private static func isOwn(_ descriptor: CInt, size: Int? = nil) -> Bool {
    var found = csystem_file_t()
    guard csystem_inspect(descriptor, &found) == 1, found.is_regular != 0,
      found.owner == geteuid(), found.permissions & 0o077 == 0
    else { return false }
    guard let size else { return true }
    return found.size == Int64(size)
  }

  /// Takes the lock if it is free, or waits for it for a bounded time.
  @inline(never)
  mutating func lock(waits: Bool, _ report: inout TokenReport) -> Bool {
    let descriptor = csystem_open_private(directory, lockFile, CInt(CSYSTEM_TO_LOCK))
    guard descriptor >= 0 else {
      report.note("its lock cannot be opened", isOfSystem: true)
      return false
    }
    guard Self.isOwn(descriptor) else {
      report.note("its lock is not a file of this user alone")
      _ = close(descriptor)
      return false
    }
    let deadline = Deadline.now &+ Self.timeout
    while true {
      switch csystem_try_lock(descriptor) {
      case 1:
        lock = descriptor
        return true
      case 0 where waits && Deadline.now < deadline: csystem_pause(500_000)
      default:
        if waits { report.note("another process holds its lock") }
        _ = close(descriptor)
        return false
      }
    }
  }

  /// Reads the file; false without a usable one.
  @inline(never)
  func read(into record: inout SharedTokenRecord, _ report: inout TokenReport) -> Bool {
    let descriptor = csystem_open_private(directory, file, CInt(CSYSTEM_TO_READ))
    guard descriptor >= 0 else {
      // The first process to need a token finds no file.
      if csystem_errno() != ENOENT { report.note("it cannot be opened", isOfSystem: true) }
      return false
    }
    defer { _ = close(descriptor) }
    guard Self.isOwn(descriptor, size: SharedTokenRecord.size) else {
      report.note("it is not a file of this user alone, or has no token")
      return false
    }
    return CSystem.read(descriptor, record.bytes.baseAddress, SharedTokenRecord.size)
      == SharedTokenRecord.size
  }

  /// Replaces the file, even one of another kind. `chance` is a number that nobody can predict.
  @inline(never)
  func replace(
    by record: borrowing SharedTokenRecord, chance: UInt32, _ report: inout TokenReport
  ) {
    // NAME.new.HEX; NAME_MAX is 255.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 300) { name in
      name.initialize(repeating: 0)
      let count = strlen(file)
      let ending: StaticString = ".new."
      guard let start = name.baseAddress,
        count &+ ending.utf8CodeUnitCount &+ 8 < name.count
      else { return }
      memcpy(start, file, count)
      memcpy(start + count, ending.utf8Start, ending.utf8CodeUnitCount)
      let digits = count &+ ending.utf8CodeUnitCount
      for index in 0..<8 {
        start[digits &+ index] = CChar(
          bitPattern: hexDigit(UInt8(truncatingIfNeeded: chance >> UInt32(4 &* index)) & 15))
      }
      let descriptor = csystem_open_private(directory, start, CInt(CSYSTEM_TO_MAKE))
      guard descriptor >= 0 else {
        report.note("no file can be made beside it", isOfSystem: true)
        return
      }
      // The process's umask may have taken from it.
      let isWritten =
        fchmod(descriptor, 0o600) == 0
        && write(descriptor, record.bytes.baseAddress, SharedTokenRecord.size)
          == SharedTokenRecord.size
      _ = close(descriptor)
      guard isWritten, renameat(directory, start, directory, file) == 0 else {
        report.note("it cannot be written", isOfSystem: true)
        unlinkat(directory, start, 0)
        return
      }
    }
  }
}
