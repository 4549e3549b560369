import Foundation

/// Memory between two inaccessible pages. If bytes end or begin at one of them, accessing a byte
/// past them crashes even without a sanitizer.
final class GuardedMemory {
  enum Side: CaseIterable { case first, last }

  private let base: UnsafeMutableRawPointer
  private let size: Int
  private let page = sysconf(CInt(_SC_PAGESIZE))

  init(capacity: Int = 65536) {
    size = (capacity + page - 1) / page * page
    let mapped = mmap(
      nil, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
    guard let mapped, mapped != MAP_FAILED,
      mprotect(mapped, page, PROT_NONE) == 0,
      mprotect(mapped + page + size, page, PROT_NONE) == 0
    else { fatalError("no guarded memory") }
    base = mapped
  }

  deinit { munmap(base, size + 2 * page) }

  /// Memory of that size, against the first guard or the last.
  func room(_ count: Int, at side: Side) -> UnsafeMutableRawBufferPointer {
    precondition(count <= size)
    let start = side == .first ? base + page : base + page + size - count
    return UnsafeMutableRawBufferPointer(start: start, count: count)
  }

  /// A copy of the bytes, valid until the next call.
  func copy(_ bytes: some Collection<UInt8>, at side: Side) -> UnsafeRawBufferPointer {
    let room = room(bytes.count, at: side)
    room.copyBytes(from: bytes)
    return UnsafeRawBufferPointer(room)
  }
}
