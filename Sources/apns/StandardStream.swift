import Glibc

/// Writes without a buffer: whoever waits for the ready line may read from a pipe.
enum StandardStream: CInt {
  case output = 1
  case error = 2

  func write(_ text: String) { write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) {
    var written = 0
    bytes.withUnsafeBytes { bytes in
      while written < bytes.count {
        let count = Glibc.write(rawValue, bytes.baseAddress! + written, bytes.count - written)
        if count >= 0 {
          written += count
        } else if errno != EINTR {
          return
        }
      }
    }
  }
}
