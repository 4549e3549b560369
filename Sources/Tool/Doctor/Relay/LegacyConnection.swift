import BinaryServer
import COpenSSL
import Glibc

/// A connection like a legacy client's, made with OpenSSL: any version, no SNI, weak ciphers on
/// request, and the server's certificate is not verified.
final class LegacyConnection {
  struct TLS {
    var min = TLSBound.tls1_0
    var max = TLSBound.tls1_3
    var ciphers = "ALL"
    var credentials: LegacyCredentials?
    /// A file with its CA certificates.
    var caFile: String?
  }

  enum Failure: Error {
    /// This machine's OpenSSL lacks the setting to try.
    case impossible
    case notTLS
    case refused(String)
    case closed
    case timeout
  }

  enum End {
    case closeNotify
    /// Closed without close_notify.
    case abrupt
    case timeout
  }

  private let socket: TimedSocket
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private let tickets: UnsafeMutablePointer<Int>

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
    tickets.deallocate()
    ERR_clear_error()
  }

  init(_ socket: consuming TimedSocket, _ tls: TLS) throws(Failure) {
    ERR_clear_error()
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .impossible }
    // Security level 0 for this connection only, as old versions and certificates need.
    let isSet =
      SSL_CTX_set_cipher_list(context, tls.ciphers + ":@SECLEVEL=0") == 1
      && copenssl_set_min_version(context, tls.min.number) == 1
      && copenssl_set_max_version(context, tls.max.number) == 1
      && tls.caFile.map { SSL_CTX_load_verify_locations(context, $0, nil) == 1 } ?? true
      && tls.credentials?.use(in: context) ?? true
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
    guard isSet, let ssl = SSL_new(context), SSL_set_fd(ssl, socket.descriptor) == 1 else {
      SSL_CTX_free(context)
      throw .impossible
    }
    self.socket = socket
    self.context = context
    self.ssl = ssl
    tickets = .allocate(capacity: 1)
    tickets.initialize(to: 0)
    SSL_set_msg_callback(ssl) { isWritten, _, kind, bytes, count, ssl, _ in
      // NewSessionTicket, which TLS 1.3 sends after the handshake.
      guard isWritten == 0, kind == SSL3_RT_HANDSHAKE, count > 0,
        SSL_version(ssl) == TLS1_3_VERSION,
        bytes?.load(as: UInt8.self) == UInt8(SSL3_MT_NEWSESSION_TICKET),
        let counted = copenssl_state(ssl)
      else { return }
      counted.assumingMemoryBound(to: Int.self).pointee += 1
    }
    copenssl_set_state(ssl, tickets)
    SSL_set_connect_state(ssl)
    let (result, code) = drive { SSL_do_handshake($0) }
    if result == 1 { return }
    throw failure(code)
  }

  /// Repeats the call until OpenSSL needs no more input or output. Returns its result, and its
  /// error if it failed.
  private func drive(_ step: (OpaquePointer) -> CInt) -> (CInt, CInt) {
    while true {
      ERR_clear_error()
      errno = 0
      let result = step(ssl)
      if result > 0 { return (result, 0) }
      let code = SSL_get_error(ssl, result)
      switch code {
      case SSL_ERROR_WANT_READ where socket.wait(for: POLLIN): continue
      case SSL_ERROR_WANT_WRITE where socket.wait(for: POLLOUT): continue
      default: return (result, code)
      }
    }
  }

  private func failure(_ code: CInt) -> Failure {
    if code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE { return .timeout }
    let error = ERR_peek_error()
    if code == SSL_ERROR_SYSCALL || error == 0 || copenssl_is_end_without_close(error) != 0 {
      return .closed
    }
    if copenssl_is_not_tls(error) != 0, SSL_get_state(ssl) == TLS_ST_CW_CLNT_HELLO {
      return .notTLS
    }
    let reason = ERR_reason_error_string(error).map { String(cString: $0) } ?? "TLS fails"
    let alert = copenssl_alert(error)
    // The peer never saw a setting that this machine's OpenSSL lacks.
    if alert == 0,
      SSL_get_state(ssl) == TLS_ST_BEFORE || SSL_get_state(ssl) == TLS_ST_CW_CLNT_HELLO,
      copenssl_is_other_version(error) == 0
    {
      return .impossible
    }
    return .refused(reason)
  }

  /// In OpenSSL's format: TLSv1.2.
  var version: String { SSL_get_version(ssl).map { String(cString: $0) } ?? "" }

  var cipher: String {
    SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { String(cString: $0) } ?? ""
  }

  var certificate: Certificate? { copenssl_peer_certificate(ssl).map(Certificate.init) }

  /// The reason why a client that trusts `caFile` would reject the server's certificate; nil if it
  /// would accept it.
  var distrust: String? {
    let result = SSL_get_verify_result(ssl)
    if result == Int(X509_V_OK) { return nil }
    return String(cString: X509_verify_cert_error_string(result))
  }

  /// The number of session tickets read (TLS 1.3).
  var ticketCount: Int { tickets.pointee }

  /// Writes, then reads to the end; `limit` bytes of it are kept.
  func talk(_ bytes: [UInt8], limit: Int = 64) -> (answer: [UInt8], end: End) {
    // A peer that closes immediately may still have sent something, so a failed write is ignored.
    if !bytes.isEmpty { _ = drive { SSL_write($0, bytes, CInt(bytes.count)) } }
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1024)
    while answer.count < limit {
      let (result, code) = drive { SSL_read($0, &piece, CInt(piece.count)) }
      if result > 0 {
        answer += piece[..<Int(result)]
        continue
      }
      switch code {
      case SSL_ERROR_ZERO_RETURN:
        SSL_shutdown(ssl)
        return (answer, .closeNotify)
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return (answer, .timeout)
      default: return (answer, .abrupt)
      }
    }
    return (answer, .timeout)
  }

  /// Closes so that the server learns that its data was not read.
  func abandon() { socket.endByReset() }
}
