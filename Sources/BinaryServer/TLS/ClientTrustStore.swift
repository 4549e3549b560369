import COpenSSL

/// CA certificates for a server that accepts any client certificate in the handshake and verifies
/// it afterwards.
package final class ClientTrustStore: @unchecked Sendable {
  private let store: OpaquePointer

  /// Trusts each certificate in the PEM file, intermediate ones included.
  package init(file: String) throws(ServerTLSError) {
    ERR_clear_error()
    guard let store = X509_STORE_new() else { throw .setUp(OpenSSLServerContext.lastError) }
    guard X509_STORE_load_locations(store, file, nil) == 1,
      X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) == 1
    else {
      X509_STORE_free(store)
      throw .setUp(OpenSSLServerContext.lastError)
    }
    self.store = store
  }

  deinit { X509_STORE_free(store) }

  /// The reason why the client certificate is not trusted; nil if it is. `level` is OpenSSL's
  /// security level: 0 allows SHA-1 signatures and short keys.
  package func fault(of client: OpenSSLServerHandler, level: CInt) -> String? {
    defer { ERR_clear_error() }
    guard let certificate = copenssl_peer_certificate(client.ssl) else {
      return "no certificate"
    }
    defer { X509_free(certificate) }
    guard let verification = X509_STORE_CTX_new() else { return "out of memory" }
    defer { X509_STORE_CTX_free(verification) }
    guard
      X509_STORE_CTX_init(
        verification, store, certificate, SSL_get_peer_cert_chain(client.ssl)) == 1
    else { return "out of memory" }
    let parameters = X509_STORE_CTX_get0_param(verification)
    X509_VERIFY_PARAM_set_auth_level(parameters, level)
    X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_CLIENT)
    if X509_verify_cert(verification) == 1 { return nil }
    let code = Int(X509_STORE_CTX_get_error(verification))
    return String(cString: X509_verify_cert_error_string(code))
  }
}
