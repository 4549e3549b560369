import CAPNS
import CSystem

/// An error, as the caller will see it. A failure takes a few hundred bytes and is passed by
/// address. Code on the busy path only returns that it failed, and makes the failure on demand.
#if hasFeature(Sensitive)
  @sensitive
#endif
struct Failure: Error {
  var status: apns_status_t
  var systemError: CInt = 0
  var tlsCode: UInt = 0
  /// The status with which a gateway would have refused the notification.
  let reject: apns_reject_t
  /// The cause, for an application to switch on.
  var cause: apns_cause_t
  /// Stored in the failure itself, however large that makes it. An allocated message could not
  /// report that memory ran out.
  private var message = Message()

  @inline(never)
  init(
    _ status: apns_status_t, _ text: StaticString, systemError: CInt = 0,
    reject: apns_reject_t = APNS_REJECT_NONE, cause: apns_cause_t = APNS_CAUSE_NONE
  ) {
    self.init(status, systemError: systemError, reject: reject, cause: cause) { $0.append(text) }
  }

  @inline(never)
  init(
    _ status: apns_status_t, systemError: CInt = 0, reject: apns_reject_t = APNS_REJECT_NONE,
    cause: apns_cause_t = APNS_CAUSE_NONE,
    describe: (inout Message) -> Void
  ) {
    self.status = status
    self.reject = reject
    self.systemError = systemError
    self.cause = cause == APNS_CAUSE_NONE ? Self.cause(of: status, systemError) : cause
    describe(&message)
    if systemError != 0 {
      message.append(": ")
      message.append(systemError: systemError)
    }
  }

  /// The cause, if the code that failed gives no other.
  private static func cause(of status: apns_status_t, _ systemError: CInt) -> apns_cause_t {
    switch systemError {
    case EMFILE, ENFILE: return APNS_CAUSE_DESCRIPTORS
    case ENOMEM, ENOBUFS: return APNS_CAUSE_MEMORY
    default: break
    }
    switch status {
    case APNS_ERR_MEMORY: return APNS_CAUSE_MEMORY
    case APNS_ERR_TIMEOUT: return APNS_CAUSE_ANSWER_TIMEOUT
    case APNS_ERR_NETWORK: return APNS_CAUSE_CONNECTION_LOST
    case APNS_ERR_TLS: return APNS_CAUSE_TLS_FAILED
    case APNS_ERR_PROTOCOL: return APNS_CAUSE_PROTOCOL
    case APNS_ERR_CREDENTIALS:
      return systemError == 0 ? APNS_CAUSE_FILE_MALFORMED : APNS_CAUSE_FILE_UNREADABLE
    default: return APNS_CAUSE_NONE
    }
  }

  /// For sessions that never wait.
  static var notYet: Failure {
    @inline(never) get { Failure(APNS_ERR_AGAIN, "not done yet: the session continues with it") }
  }

  static var noRoomYet: Failure {
    @inline(never) get {
      Failure(APNS_ERR_AGAIN, "the window is full until earlier notifications have their outcome")
    }
  }

  static var outOfMemory: Failure {
    @inline(never) get { Failure(APNS_ERR_MEMORY, "out of memory") }
  }

  /// The same failure with more text.
  @inline(never)
  func saying(_ more: (inout Message) -> Void) -> Failure {
    var longer = self
    more(&longer.message)
    return longer
  }

  /// Appends the message to that of another failure.
  @inline(never)
  func append(to other: inout Message) { other.append(message) }

  /// Fills in what the caller's structure has room for.
  @inline(never)
  func report(to error: UnsafeMutablePointer<apns_error_t>?) {
    guard let error else { return }
    let given = error.pointee.size
    var full = apns_error_t()
    full.size = given
    full.status = status.rawValue
    full.sys_errno = systemError
    full.tls_code = UInt64(tlsCode)
    full.reject = Int32(truncatingIfNeeded: reject.rawValue)
    full.cause = Int32(truncatingIfNeeded: cause.rawValue)
    withUnsafeMutableBytes(of: &full.message) { message.copy(to: $0) }
    withUnsafeBytes(of: &full) { source in
      let known = min(given, source.count)
      guard known > 0, let start = source.baseAddress else { return }
      UnsafeMutableRawPointer(error).copyMemory(from: start, byteCount: known)
    }
  }
}

extension Failure {
  /// The peer refused the provider's certificate, so it processed nothing that was sent (RFC 8446,
  /// 6.2: the alerts about certificates).
  var refusesProvider: Bool {
    cause == APNS_CAUSE_CERTIFICATE_REFUSED || cause == APNS_CAUSE_CERTIFICATE_WANTED
  }
}

extension apns_status_t {
  /// The same call may succeed later without a change by the caller.
  var isRetryable: Bool {
    switch self {
    case APNS_ERR_TIMEOUT, APNS_ERR_NETWORK, APNS_ERR_MEMORY, APNS_ERR_AGAIN: true
    default: false
    }
  }
}
