import Glibc
import Simulator

/// A file that appears complete or not at all: it is written next to its destination and then
/// renamed.
final class OutputFile {
  private let path: String
  private let made: String
  private let descriptor: CInt
  private var isFinished = false

  /// `mode` is for a new file.
  init(_ path: String, mode: mode_t = 0o600) throws(FileFault) {
    let replaced: stat?
    do throws(ListError) {
      replaced = try PrivateFile.status(of: path)
    } catch {
      throw FileFault(path: path, message: error.message)
    }
    var name = Array((path + ".XXXXXX").utf8CString)
    // Readable by its owner only until it gets its final mode.
    descriptor = mkstemp(&name)
    guard descriptor >= 0 else { throw FileFault.system(path) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    self.path = path
    made = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Keeps the mode of the file it replaces, and its group.
    if let replaced, replaced.st_mode & S_IFMT == S_IFREG {
      let isSameGroup = fchown(descriptor, uid_t.max, replaced.st_gid) == 0
      fchmod(descriptor, replaced.st_mode & (isSameGroup ? 0o777 : 0o707))
    } else if mode != 0o600 {
      fchmod(descriptor, mode)
    }
  }

  deinit {
    close(descriptor)
    if !isFinished { unlink(made) }
  }

  func write(_ bytes: [UInt8]) throws(FileFault) {
    try Self.write(bytes, to: descriptor, path)
  }

  func finish() throws(FileFault) {
    guard fsync(descriptor) == 0, rename(made, path) == 0 else { throw FileFault.system(path) }
    isFinished = true
  }

  static func write(_ bytes: [UInt8], to descriptor: CInt, _ path: String) throws(FileFault) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress! + written, $0.count - written)
      }
      if count > 0 {
        written += count
      } else if errno != EINTR {
        throw FileFault.system(path)
      }
    }
  }
}
