import Foundation

/// Detects changes of a file: its inode, size and modification time.
enum FileMark {
  static func of(_ file: String) -> [Int64] {
    var status = stat()
    guard stat(file, &status) == 0 else { return [] }
    return [
      Int64(status.st_ino), Int64(status.st_size), Int64(status.st_mtim.tv_sec),
      Int64(status.st_mtim.tv_nsec),
    ]
  }
}
