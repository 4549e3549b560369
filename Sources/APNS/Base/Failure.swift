import CAPNS
import CSystem

/// What went wrong, as it will be handed to the caller. A few hundred bytes, which are handed
/// on by address: what works says that it failed without one, and is asked for it.
#if hasFeature(Sensitive)
  @sensitive
#endif
struct Failure: Error {
  var status: apns_status_t
  var systemError: CInt = 0
  var tlsCode: UInt = 0
  /// The status with which a gateway would have refused the notification it is about.
  let reject: apns_reject_t
  /// In the failure itself, however large that makes it: with memory of its own, what fails
  /// for want of memory could not be said.
  private var message = Message()

  @inline(never)
  init(
    _ status: apns_status_t, _ text: StaticString, systemError: CInt = 0,
    reject: apns_reject_t = APNS_REJECT_NONE
  ) {
    self.init(status, systemError: systemError, reject: reject) { $0.append(text) }
  }

  @inline(never)
  init(
    _ status: apns_status_t, systemError: CInt = 0, reject: apns_reject_t = APNS_REJECT_NONE,
    describe: (inout Message) -> Void
  ) {
    self.status = status
    self.reject = reject
    self.systemError = systemError
    describe(&message)
    if systemError != 0 {
      message.append(": ")
      message.append(systemError: systemError)
    }
  }

  static var outOfMemory: Failure {
    @inline(never) get { Failure(APNS_ERR_MEMORY, "out of memory") }
  }

  /// The same, with more said.
  @inline(never)
  func saying(_ more: (inout Message) -> Void) -> Failure {
    var longer = self
    more(&longer.message)
    return longer
  }

  /// Its line of text, within that of another failure.
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
    withUnsafeMutableBytes(of: &full.message) { message.copy(to: $0) }
    withUnsafeBytes(of: &full) { source in
      let known = min(given, source.count)
      guard known > 0, let start = source.baseAddress else { return }
      UnsafeMutableRawPointer(error).copyMemory(from: start, byteCount: known)
    }
  }
}
