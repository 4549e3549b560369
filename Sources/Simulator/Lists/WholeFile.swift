import Glibc

/// An error of the system.
struct Errno: Error, CustomStringConvertible {
  var code: CInt

  init(_ code: CInt) { self.code = code }
  static var last: Errno { Errno(errno) }

  var description: String { String(cString: strerror(code)) }
}

/// Reads whole files.
enum WholeFile {
  static func read(_ path: String) throws(Errno) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw .last
      }
      if count == 0 { return contents }
      contents.append(contentsOf: piece[..<count])
    }
  }
}
