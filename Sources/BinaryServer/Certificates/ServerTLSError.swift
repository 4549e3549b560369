/// A TLS error with OpenSSL's text.
package enum ServerTLSError: Error {
  /// The files or versions are unusable.
  case setUp(String)
  case handshake(String)
  /// The client half-closed without close_notify.
  case halfClose
  case broken(String)
}

extension ServerTLSError {
  package var text: String {
    switch self {
    case .setUp(let text), .handshake(let text), .broken(let text): text
    case .halfClose: "closed without close_notify"
    }
  }
}
