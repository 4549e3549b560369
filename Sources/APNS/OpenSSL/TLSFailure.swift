import CAPNS
import COpenSSL
import CSystem

/// The contents of OpenSSL's error queue, to make a failure from. Taking them empties the queue.
struct TLSErrors {
  /// The first error, which is the cause; 0 if the queue was empty.
  let code: UInt
  /// The errors include a cipher that this OpenSSL, or its loaded providers, lack.
  private(set) var isUnsupported = false
  /// The errors, or errno, include a lack of memory or file descriptors. The other errors do not
  /// change that.
  private(set) var isExhausted = false
  /// OpenSSL reported an internal error, which means that memory ran out.
  private(set) var isInternal = false

  static var none: TLSErrors { TLSErrors(code: 0) }

  /// Looks first: emptying an empty queue costs more than encoding a notification.
  @inline(never)
  static func clear() {
    if ERR_peek_error() != 0 { ERR_clear_error() }
    csystem_set_errno(0)
  }

  /// An allocation failed since the queue was emptied. OpenSSL itself often only reports the
  /// operation that failed without the memory.
  static var isOutOfMemory: Bool { csystem_errno() == ENOMEM }

  @inline(never)
  static func take() -> TLSErrors {
    let isOutOfMemory = isOutOfMemory
    var errors = TLSErrors(code: ERR_get_error())
    errors.isExhausted = isOutOfMemory
    var next = errors.code
    while next != 0 {
      if copenssl_is_unsupported(next) != 0 { errors.isUnsupported = true }
      if copenssl_is_exhausted(next) != 0 { errors.isExhausted = true }
      if copenssl_is_internal(next) != 0 { errors.isInternal = true }
      next = ERR_get_error()
    }
    return errors
  }

  /// Empties the queue. Returns whether it had a lack of memory.
  @inline(never)
  static func takeExhausted() -> Bool {
    isOutOfMemory || ERR_peek_error() != 0 && take().isExhausted
  }

  /// The alert the peer sent, such as 48 for "unknown CA"; nil if the error is not an alert.
  var alert: CInt? {
    let alert = copenssl_alert(code)
    return alert == 0 ? nil : alert
  }

  /// The cause of a failed handshake, from the errors. A peer's alert can have several causes.
  var cause: apns_cause_t {
    switch copenssl_alert(code) {
    case 0: break
    case 42...46, 48, 49: return APNS_CAUSE_CERTIFICATE_REFUSED
    case 70: return APNS_CAUSE_TLS_VERSION
    case 116: return APNS_CAUSE_CERTIFICATE_WANTED
    case 120: return APNS_CAUSE_NO_HTTP2
    default: return APNS_CAUSE_ALERT
    }
    if copenssl_is_not_tls(code) != 0 { return APNS_CAUSE_NOT_TLS }
    return copenssl_is_other_version(code) != 0 ? APNS_CAUSE_TLS_VERSION : APNS_CAUSE_TLS_FAILED
  }

  /// An alert that peers send when they miss a certificate, among other reasons (RFC 5246, 7.2.2;
  /// RFC 8446, 6.2): handshake_failure, bad_certificate, certificate_unknown, access_denied,
  /// certificate_required.
  var mayMissCertificate: Bool {
    switch copenssl_alert(code) {
    case 40, 42, 46, 49, 116: true
    default: false
    }
  }

  /// The text had no (further) block of the requested kind.
  var isNoMorePEM: Bool { copenssl_is_no_more_pem(code) != 0 }

  var isEndWithoutClose: Bool { copenssl_is_end_without_close(code) != 0 }

  /// The failure that the errors describe, with `status` unless something ran out. Not all of
  /// OpenSSL's functions report that, so if there is no memory now, that is the reason.
  func failure(
    _ status: apns_status_t, cause: apns_cause_t = APNS_CAUSE_NONE,
    describe: (inout Message) -> Void
  ) -> Failure {
    let isExhausted = isExhausted || csystem_is_exhausted() != 0
    var failure = Failure(
      isExhausted ? APNS_ERR_MEMORY : status, cause: isExhausted ? APNS_CAUSE_NONE : cause
    ) {
      describe(&$0)
      if isExhausted { $0.append(": out of memory") } else { append(to: &$0) }
    }
    failure.tlsCode = code
    return failure
  }

  /// The failure when memory ran out, even if the errors do not include that.
  func exhausted(describe: (inout Message) -> Void) -> Failure {
    var failure = Failure(APNS_ERR_MEMORY) {
      describe(&$0)
      $0.append(": out of memory")
    }
    failure.tlsCode = code
    return failure
  }

  /// Appends the reason in OpenSSL's words.
  func append(to message: inout Message) {
    guard code != 0 else { return }
    message.append(": ")
    if let reason = ERR_reason_error_string(code) {
      message.append(reason)
    } else {
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
        buffer.initialize(repeating: 0)
        ERR_error_string_n(code, buffer.baseAddress, buffer.count)
        message.append(buffer.baseAddress)
      }
    }
  }
}
