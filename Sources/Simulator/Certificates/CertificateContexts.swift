import BinaryServer
import NIOSSL

extension CertificateDirectory {
  private func serverTLS(min: TLSBound, max: TLSBound) -> ServerTLS {
    ServerTLS(
      certificateFile: server, keyFile: serverKey, clientAuthorityFile: ca, min: min, max: max)
  }

  /// For the binary ports: a client has to show a certificate that the directory's authority
  /// signed.
  func context(min: TLSBound, max: TLSBound) throws(CertificateError) -> NIOSSLContext {
    try context(serverTLS(min: min, max: max))
  }

  /// For HTTP/2: a provider token may take the place of the client's certificate.
  func http2Context(min: TLSBound, max: TLSBound) throws(CertificateError) -> NIOSSLContext {
    var tls = serverTLS(min: min, max: max)
    tls.clientCertificate = .optional
    tls.applicationProtocols = ["h2"]
    return try context(tls)
  }

  /// For binary connections with session tickets right behind the handshake.
  func ticketContext(min: TLSBound, max: TLSBound) throws(CertificateError) -> OpenSSLServerContext
  {
    do throws(ServerTLSError) {
      return try OpenSSLServerContext(serverTLS(min: min, max: max))
    } catch {
      throw CertificateError(path: path, message: error.text)
    }
  }

  private func context(_ tls: ServerTLS) throws(CertificateError) -> NIOSSLContext {
    do {
      return try tls.boringSSLContext()
    } catch {
      throw CertificateError(path: path, message: "\(error)")
    }
  }
}
