import Glibc

enum WholeFile {
  static func read(_ path: String) throws(ListError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(path) }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw .system(path)
      }
      if count == 0 { return contents }
      contents.append(contentsOf: piece[..<count])
    }
  }
}

/// The reason why a list cannot be read, and the position.
package struct ListError: Error, CustomStringConvertible {
  package var path: String
  /// Both counted from 1; 0 for the file as a whole.
  package var line = 0
  package var column = 0
  package var message: String

  package var description: String {
    line == 0 ? "\(path): \(message)" : "\(path):\(line):\(column): \(message)"
  }

  /// The error of the last system call.
  static func system(_ path: String) -> ListError {
    ListError(path: path, message: String(cString: strerror(errno)))
  }
}
