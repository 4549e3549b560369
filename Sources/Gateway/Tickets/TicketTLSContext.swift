import COpenSSL

/// TLS by OpenSSL, for connections that are to have session tickets right behind the handshake.
/// BoringSSL, which does TLS otherwise, keeps those of 1.3 back until the gateway writes
/// something, and a gateway writes nothing while all goes well.
///
/// SSL_CTX may be used on several threads once it is set up.
final class TicketTLSContext: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Shows the server's certificate and demands one that the authority of the directory signed.
  init(
    _ directory: CertificateDirectory, min: TLSBound, max: TLSBound
  ) throws(CertificateError) {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_server_method()) else {
      throw CertificateError(path: directory.path, message: Self.lastError)
    }
    self.pointer = pointer
    // Versions below 1.2 need it, and so do the keys of clients of old.
    SSL_CTX_set_cipher_list(pointer, "DEFAULT:@SECLEVEL=0")
    let isSet =
      copenssl_set_min_version(pointer, Self.number(min)) == 1
      && copenssl_set_max_version(pointer, Self.number(max)) == 1
      && SSL_CTX_use_certificate_chain_file(pointer, directory.server) == 1
      && SSL_CTX_use_PrivateKey_file(pointer, directory.serverKey, SSL_FILETYPE_PEM) == 1
      && SSL_CTX_load_verify_locations(pointer, directory.ca, nil) == 1
      // Without a name for them no session that showed a certificate is taken up again.
      && SSL_CTX_set_session_id_context(pointer, "apns", 4) == 1
    if !isSet { throw CertificateError(path: directory.path, message: Self.lastError) }
    SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
  }

  deinit { SSL_CTX_free(pointer) }

  /// OpenSSL's own words for what went wrong last on this thread, which it forgets.
  static var lastError: String {
    let text = ERR_reason_error_string(ERR_peek_error()).map { String(cString: $0) }
    ERR_clear_error()
    return text ?? "unknown error of TLS"
  }

  private static func number(_ bound: TLSBound) -> CInt {
    switch bound {
    case .tls1_0: TLS1_VERSION
    case .tls1_1: TLS1_1_VERSION
    case .tls1_2: TLS1_2_VERSION
    case .tls1_3: TLS1_3_VERSION
    }
  }
}

/// How a connection over it ended that was not closed in order.
enum TicketTLSError: Error {
  /// It never got past the handshake; in OpenSSL's words.
  case handshake(String)
  /// The client has but closed its side without TLS's word for it.
  case half
  case broken(String)
}
