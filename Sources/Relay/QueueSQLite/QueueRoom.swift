import Foundation

/// Room on the file system of a queue's file. A reserve stands beside the file. Where nothing else is
/// left it is given up, so that what is in hand can be recorded, and what is in the WAL finds its place.
final class QueueRoom: Sendable {
  /// Beyond that nobody needs to look closer.
  private static let ample: Int64 = 64 << 20
  /// More than other programs leave in a WAL before they bring it into the file. Of a small file system it is
  /// the half: then what the other half has in a WAL finds its place in any case.
  private static let mostReserve: Int64 = 8 << 20
  /// A transaction of the relay's own fits in.
  private static let leftToOthers: Int64 = 512 << 10

  let file: String
  private let reserve: String

  init(_ file: String) {
    self.file = file
    reserve = file + "-reserve"
  }

  struct Figures {
    /// For this user, without the reserve.
    var free: Int64
    var reserve: Int64
    var reserveWanted: Int64

    /// There is so much that no transaction comes near the end.
    var isAmple: Bool { beyondReserve >= ample }
    /// With what the reserve has.
    var all: Int64 { free + reserve }
    /// Without what the reserve lacks.
    var beyondReserve: Int64 { free + reserve - reserveWanted }
  }

  /// nil: the system does not say.
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

  /// Makes the reserve, or what there is room for of it.
  func keepReserve() {
    guard let room = look() else { return }
    resize { size in min(room.reserveWanted, size + max(0, room.free - Self.leftToOthers)) }
  }

  /// So many bytes of it become free, and a little more.
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
    // What was had in part is given back.
    if size < before || size > before && posix_fallocate(descriptor, 0, Int(size)) != 0 {
      ftruncate(descriptor, Int(min(size, before)))
    }
  }
}
