import NIOSSL

/// What a server shows its clients, whom it trusts, and which versions of TLS it speaks.
package struct ServerTLS: Sendable {
  package enum ClientCertificate: Sendable {
    /// The binary protocol has no other way to tell who the client is.
    case required
    /// A provider token may take its place.
    case optional
  }

  /// PEM files: the server's certificate with its chain, its key, and the authority that signs
  /// the clients' certificates.
  package var certificateFile: String
  package var keyFile: String
  package var clientAuthorityFile: String
  package var min: TLSBound
  package var max: TLSBound
  package var clientCertificate = ClientCertificate.required
  package var applicationProtocols: [String] = []

  package init(
    certificateFile: String, keyFile: String, clientAuthorityFile: String, min: TLSBound,
    max: TLSBound
  ) {
    self.certificateFile = certificateFile
    self.keyFile = keyFile
    self.clientAuthorityFile = clientAuthorityFile
    self.min = min
    self.max = max
  }

  package func context() throws -> NIOSSLContext {
    var tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(certificateFile).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: keyFile, format: .pem)))
    tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(clientAuthorityFile))
    switch clientCertificate {
    case .required: tls.certificateVerification = .noHostnameVerification
    case .optional: tls.certificateVerification = .optionalVerification
    }
    tls.applicationProtocols = applicationProtocols
    tls.minimumTLSVersion = min.version
    tls.maximumTLSVersion = max.version
    // The peer had its time to close by then. Waiting for its close_notify gains nothing.
    tls.shutdownTimeout = .milliseconds(200)
    return try NIOSSLContext(configuration: tls)
  }
}
