/// What a server shows its clients, whom it trusts, and which versions of TLS it speaks.
package struct ServerTLS: Sendable {
  package enum ClientCertificate: Sendable {
    /// The binary protocol has no other way to tell who the client is.
    case required
    /// A provider token may take its place.
    case optional
    /// Any, or none, gets through the handshake: the server judges it by itself afterwards.
    case unverified
  }

  /// PEM files: the server's certificate with its chain, its key, and the authority that signs
  /// the clients' certificates, if the handshake verifies them.
  package var certificateFile: String
  package var keyFile: String
  package var clientAuthorityFile: String?
  package var min: TLSBound
  package var max: TLSBound
  package var clientCertificate = ClientCertificate.required
  package var speaksHTTP2 = false
  /// OpenSSL's. Versions below 1.2 and the short keys of old clients need level 0.
  package var ciphers = "DEFAULT:@SECLEVEL=0"
  /// Session tickets, as the last part of the handshake: bytes without data, which clients of old
  /// take for an answer.
  package var sendsTickets = false
  /// Key exchange by Diffie-Hellman without elliptic curves.
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
