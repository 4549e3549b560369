/// A server's certificate, trusted CAs and TLS versions.
package struct ServerTLS: Sendable {
  package enum ClientCertificate: Sendable {
    /// The binary interface has no other way to identify the client.
    case required
    /// A provider token may replace it.
    case optional
    /// The handshake accepts any certificate, or none; the server verifies it afterwards.
    case unverified
  }

  /// PEM files: the server's certificate with its chain, its key, and the CA for client
  /// certificates, if the handshake verifies them.
  package var certificateFile: String
  package var keyFile: String
  package var clientAuthorityFile: String?
  package var min: TLSBound
  package var max: TLSBound
  package var clientCertificate = ClientCertificate.required
  package var speaksHTTP2 = false
  /// OpenSSL's cipher string. Versions below 1.2 and the short keys of legacy clients need security
  /// level 0.
  package var ciphers = "DEFAULT:@SECLEVEL=0"
  /// Sends session tickets at the end of the handshake: bytes without data, which legacy clients
  /// take for an error packet.
  package var sendsTickets = false
  /// Diffie-Hellman without elliptic curves.
  package var takesDHE = false

  package init(
    certificateFile: String, keyFile: String, clientAuthorityFile: String? = nil, min: TLSBound,
    max: TLSBound
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.clientAuthorityFile = clientAuthorityFile
    self.min = min
    self.max = max
  }
}
