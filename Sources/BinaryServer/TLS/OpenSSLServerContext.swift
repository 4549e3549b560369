import COpenSSL

/// The TLS settings that a server's connections share. An SSL_CTX is thread-safe once it is set up.
package final class OpenSSLServerContext: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Replaces the public key in a client certificate after the handshake.
  let nobodysKey = copenssl_placeholder_key()

  package init(_ tls: ServerTLS) throws(ServerTLSError) {
    ERR_clear_error()
    guard let pointer = SSL_CTX_new(TLS_server_method()) else { throw .setUp(Self.lastError) }
    self.pointer = pointer
    let isSet =
      SSL_CTX_set_cipher_list(pointer, tls.ciphers) == 1
      && copenssl_set_min_version(pointer, tls.min.number) == 1
      && copenssl_set_max_version(pointer, tls.max.number) == 1
      && SSL_CTX_use_certificate_chain_file(pointer, tls.certificateFile) == 1
      && SSL_CTX_use_PrivateKey_file(pointer, tls.keyFile, SSL_FILETYPE_PEM) == 1
      && (tls.clientAuthorityFile.map { SSL_CTX_load_verify_locations(pointer, $0, nil) } ?? 1) == 1
      // OpenSSL resumes sessions with client certificates only if a session ID context is set.
      && SSL_CTX_set_session_id_context(pointer, "apns", 4) == 1
      && (tls.sendsTickets || copenssl_forbid_tickets(pointer) == 1)
      && (!tls.takesDHE || copenssl_take_dhe(pointer) == 1)
    if !isSet { throw .setUp(Self.lastError) }
    if tls.speaksHTTP2 { copenssl_take_http2(pointer) }
    copenssl_show_given_chain(pointer)
    copenssl_keep_no_sessions(pointer)
    copenssl_release_buffers(pointer)
    copenssl_refuse_renegotiation(pointer)
    switch tls.clientCertificate {
    case .required:
      SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    case .optional: SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
    case .unverified: SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, { _, _ in 1 })
    }
  }

  deinit {
    SSL_CTX_free(pointer)
    EVP_PKEY_free(nobodysKey)
  }

  /// OpenSSL's text for this thread's last error. Clears the error queue.
  static var lastError: String {
    let text = ERR_reason_error_string(ERR_peek_error()).map { String(cString: $0) }
    ERR_clear_error()
    return text ?? "unknown TLS error"
  }
}
