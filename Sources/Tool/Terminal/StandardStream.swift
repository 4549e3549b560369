import Client
import Glibc

/// Writes without a buffer, because the reader of the ready line may use a pipe.
enum StandardStream: CInt {
  case output = 1
  case error = 2

  /// Redacts keys in messages.
  func write(_ text: String) {
    let isMessage = self == .error
    write(Array((isMessage ? Redaction.of(text, given: CommandLine.arguments) : text).utf8))
  }

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
