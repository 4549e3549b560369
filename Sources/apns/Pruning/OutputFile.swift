import Glibc

/// A file that is there whole or not at all: written beside its place and then moved there.
final class OutputFile {
  private let path: String
  private let made: String
  private let descriptor: CInt
  private var isFinished = false

  init(_ path: String) throws(FileFault) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    var name = Array((path + ".XXXXXX").utf8CString)
    descriptor = mkstemp(&name)
    guard descriptor >= 0 else { throw FileFault.system(path) }
    self.path = path
    made = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let mask = umask(0)
    umask(mask)
    fchmod(descriptor, isThere ? status.st_mode & 0o777 : 0o666 & ~mask)
  }

  deinit {
    close(descriptor)
    if !isFinished { unlink(made) }
  }

  func write(_ bytes: [UInt8]) throws(FileFault) {
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

  func finish() throws(FileFault) {
    guard fsync(descriptor) == 0, rename(made, path) == 0 else { throw FileFault.system(path) }
    isFinished = true
  }
}
