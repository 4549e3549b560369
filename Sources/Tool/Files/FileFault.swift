import Glibc

/// The reason why a file is unusable, and the position.
struct FileFault: Error, CustomStringConvertible {
  var path: String
  /// Counted from 1; 0 for the file as a whole.
  var line = 0
  var column = 0
  var message: String

  var description: String {
    let name = path == "-" ? "standard input" : path
    if line == 0 { return "\(name): \(message)" }
    return column == 0 ? "\(name):\(line): \(message)" : "\(name):\(line):\(column): \(message)"
  }

  static func system(_ path: String, _ code: CInt = errno) -> FileFault {
    FileFault(path: path, message: String(cString: strerror(code)))
  }
}

/// The first line of a small file: a passphrase.
enum SecretFile {
  static func firstLine(of path: String) throws(FileFault) -> String {
    let lines = try LineReader(path)
    guard let line = try lines.next(), !line.isEmpty else {
      throw FileFault(path: path, message: "the first line is empty")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
