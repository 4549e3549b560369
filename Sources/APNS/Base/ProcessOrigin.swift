import CSystem

/// Distinguishes a child from the process that made an object, without a system call if the kernel
/// can wipe a page on fork.
struct ProcessOrigin: ~Copyable {
  private static let pageSize = 4096
  private let page: UnsafeMutableRawPointer?
  private let process: pid_t

  init() {
    page = csystem_map_wiped_on_fork(Self.pageSize)
    process = getpid()
    page?.storeBytes(of: 1, as: UInt8.self)
  }

  deinit { if let page { munmap(page, Self.pageSize) } }

  @inline(__always)
  var isHere: Bool {
    if let page { return page.load(as: UInt8.self) == 1 }
    return getpid() == process
  }
}
