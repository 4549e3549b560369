import CAPNS
import COpenSSL
import CSystem

/// Which certificate failed which check, noted while the handshake fails by it.
struct PeerFault {
  /// X509_V_OK while nothing failed.
  var code: CInt = 0
  /// In the chain, 0 being the gateway's own.
  var depth: CInt = 0
  var subject = Message()
}

/// OpenSSL's verify callback: notes the first fault and changes nothing.
func notePeerFault(_ fine: CInt, _ store: OpaquePointer?) -> CInt {
  guard fine == 0, let store, let state = copenssl_verified_state(store) else { return fine }
  let socket = state.assumingMemoryBound(to: SocketState.self)
  guard socket.pointee.peerFault.code == 0 else { return fine }
  socket.pointee.peerFault.code = X509_STORE_CTX_get_error(store)
  socket.pointee.peerFault.depth = X509_STORE_CTX_get_error_depth(store)
  if let certificate = X509_STORE_CTX_get_current_cert(store) {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 160) { buffer in
      buffer.initialize(repeating: 0)
      _ = copenssl_subject_line(certificate, buffer.baseAddress, CInt(buffer.count))
      socket.pointee.peerFault.subject.append(buffer.baseAddress)
    }
  }
  return fine
}

extension Message {
  /// "… is not verified: certificate has expired (certificate 0: /CN=gateway)".
  mutating func append(_ fault: borrowing PeerFault, host: UnsafePointer<CChar>) {
    append(host)
    append(" is not verified: ")
    append(X509_verify_cert_error_string(Int(fault.code)))
    append(" (certificate ")
    append(Int(fault.depth))
    append(": ")
    append(fault.subject)
    append(")")
  }
}
