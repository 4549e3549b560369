import Glibc

/// The limit of file descriptors, of which each connection needs one.
package enum OpenFiles {
  /// The number of files that this process may open.
  package static var limit: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
    return Int(clamping: limit.rlim_cur)
  }

  package static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
