import COpenSSL
import CSystem

/// The application's own SSL, made by provider code that was pasted into it. We only write to it.
struct HostConnection {
  private let ssl: OpaquePointer
  /// How many milliseconds a peer on a non-blocking socket may accept nothing.
  private static let timeout: Milliseconds = 30_000

  init(_ ssl: OpaquePointer) { self.ssl = ssl }

  /// Writes all the bytes; false if the connection can no longer be used.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // OpenSSL's BIO owns the socket and can only write in a way that may raise SIGPIPE, so this
    // thread blocks the signal.
    let undo = csystem_block_sigpipe()
    TLSErrors.clear()
    let written = writeAll(bytes)
    TLSErrors.clear()
    csystem_restore_sigpipe(undo, written ? 0 : 1)
    return written
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes
    while rest.count > 0 {
      // A retry repeats the same bytes from the same place, as OpenSSL demands.
      let result = SSL_write(ssl, rest.baseAddress, CInt(truncatingIfNeeded: rest.count))
      if result > 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[min(Int(result), rest.count)...])
        continue
      }
      let isReady: Bool
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ: isReady = wait(for: .reading, SSL_get_rfd(ssl))
      case SSL_ERROR_WANT_WRITE: isReady = wait(for: .writing, SSL_get_wfd(ssl))
      default: return false
      }
      if !isReady { return false }
      TLSErrors.clear()
    }
    return true
  }

  private func wait(for wanted: Readiness, _ descriptor: CInt) -> Bool {
    descriptor >= 0
      && Readiness.wait(for: wanted, on: descriptor, until: Deadline(milliseconds: Self.timeout))
        != nil
  }
}
