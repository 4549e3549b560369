import BinaryServer

extension CertificateDirectory {
  private func serverTLS(min: TLSBound, max: TLSBound) -> ServerTLS {
    ServerTLS(
      certificateFile: server, keyFile: serverKey, clientAuthorityFile: ca, min: min, max: max)
  }

  /// For the binary ports: a client needs a certificate signed by the directory's CA.
  func context(
    min: TLSBound, max: TLSBound, sendsTickets: Bool
  ) throws(CertificateError) -> OpenSSLServerContext {
    var tls = serverTLS(min: min, max: max)
    tls.sendsTickets = sendsTickets
    return try context(tls)
  }

  /// For HTTP/2: a provider token may replace the client's certificate. Session tickets are
  /// harmless.
  func http2Context(min: TLSBound, max: TLSBound) throws(CertificateError) -> OpenSSLServerContext {
    var tls = serverTLS(min: min, max: max)
    tls.clientCertificate = .optional
    tls.speaksHTTP2 = true
    tls.sendsTickets = true
    return try context(tls)
  }

  private func context(_ tls: ServerTLS) throws(CertificateError) -> OpenSSLServerContext {
    do throws(ServerTLSError) {
      return try OpenSSLServerContext(tls)
    } catch {
      throw CertificateError(path: path, message: error.text)
    }
  }
}
