import Foundation

/// Free space on the file system of the queue's file. A reserve file next to it is released when no
/// other space is left, so that outcomes of held entries can be recorded and the WAL can be
/// checkpointed.
final class QueueRoom: Sendable {
  /// With more free space than this no closer check is needed.
  private static let ample: Int64 = 64 << 20
  /// The largest reserve: more than other programs leave in a WAL before they checkpoint it. On a
  /// small file system the reserve is half of it, so that any WAL in the other half fits.
  private static let mostReserve: Int64 = 8 << 20
  /// Free space beyond the reserve, enough for a transaction of the relay.
  private static let leftToOthers: Int64 = 512 << 10

  let file: String
  private let reserve: String

  init(_ file: String) {
    self.file = file
    reserve = file + "-reserve"
  }

  struct Figures {
    /// Bytes that this user can write, without the reserve.
    var free: Int64
    var reserve: Int64
    var reserveWanted: Int64

    /// Whether there is more space than any transaction needs.
    var isAmple: Bool { beyondReserve >= ample }
    /// Free space including the reserve.
    var all: Int64 { free + reserve }
    /// Free space that remains once the reserve has its full size.
    var beyondReserve: Int64 { free + reserve - reserveWanted }
  }

  /// nil if the system call fails.
  func look() -> Figures? {
    var system = statvfs()
    guard statvfs(file, &system) == 0 else { return nil }
    let unit = Int64(system.f_frsize)
    let total = Int64(system.f_blocks) * unit
    return Figures(
      free: Int64(system.f_bavail) * unit, reserve: reserveSize,
      reserveWanted: min(Self.mostReserve, total / 2))
  }

  private var reserveSize: Int64 {
    var status = stat()
    return stat(reserve, &status) == 0 ? Int64(status.st_blocks) * 512 : 0
  }

  /// Creates the reserve, or extends it as far as the free space allows.
  func keepReserve() {
    guard let room = look() else { return }
    resize { size in min(room.reserveWanted, size + max(0, room.free - Self.leftToOthers)) }
  }

  /// Frees this many bytes of the reserve, and a little more.
  func giveUp(_ bytes: Int64) {
    resize { size in min(size, max(0, size - bytes - Self.leftToOthers)) }
  }

  private func resize(_ wanted: (Int64) -> Int64) {
    let descriptor = open(reserve, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    let (before, size) = (Int64(status.st_size), wanted(Int64(status.st_size)))
    // A failed allocation may have extended the file: restore its size.
    if size < before || size > before && posix_fallocate(descriptor, 0, Int(size)) != 0 {
      ftruncate(descriptor, Int(min(size, before)))
    }
  }
}
