import Glibc
import Simulator

/// A file of lines. They wait in memory until the next `flush()`.
final class LineFile {
  let path: String
  let descriptor: CInt
  private var waiting: [UInt8] = []

  /// Opens the file with `flags`. It may hold device tokens.
  init(_ path: String, _ flags: CInt) throws(FileFault) {
    do throws(ListError) {
      descriptor = try PrivateFile.open(path, flags)
    } catch {
      throw FileFault(path: path, message: error.message)
    }
    self.path = path
  }

  /// Standard output.
  init() { (path, descriptor) = ("-", STDOUT_FILENO) }

  deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }

  func write(_ line: String) {
    waiting += line.utf8
    waiting.append(0x0A)
  }

  func flush() throws(FileFault) {
    try OutputFile.write(waiting, to: descriptor, path)
    waiting.removeAll(keepingCapacity: true)
  }
}
