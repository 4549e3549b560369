import CAPNS
import CSystem

/// What went wrong, as it will be handed to the caller.
struct Failure: Error {
  var status: apns_status_t
  var systemError: CInt = 0
  var tlsCode: UInt = 0
  /// Kept apart, for a failure is handed on by value. Nil where there was no memory for it.
  private var text: FailureText?

  @inline(never)
  init(_ status: apns_status_t, _ text: StaticString, systemError: CInt = 0) {
    self.init(status, systemError: systemError) { $0.append(text) }
  }

  @inline(never)
  init(_ status: apns_status_t, systemError: CInt = 0, describe: (inout Message) -> Void) {
    self.status = status
    self.systemError = systemError
    text = FailureText.make()
    guard let text else { return }
    describe(&text.message)
    if systemError != 0 {
      text.message.append(": ")
      text.message.append(systemError: systemError)
    }
  }

  private init(silently status: apns_status_t) {
    self.status = status
    text = nil
  }

  static var outOfMemory: Failure { Failure(silently: APNS_ERR_MEMORY) }

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
    withUnsafeMutableBytes(of: &full.message) { target in
      if let text {
        text.message.copy(to: target)
      } else {
        var message = Message()
        message.append("out of memory")
        message.copy(to: target)
      }
    }
    withUnsafeBytes(of: &full) { source in
      let known = min(given, source.count)
      guard known > 0, let start = source.baseAddress else { return }
      UnsafeMutableRawPointer(error).copyMemory(from: start, byteCount: known)
    }
  }
}

/// The line of text of a failure, written while it is made, and only read from then on.
private final class FailureText: @unchecked Sendable {
  var message = Message()

  /// Nil where there is no memory: Swift's own allocation would end the program then.
  @inline(never)
  static func make() -> FailureText? {
    guard let probe = malloc(MemoryLayout<Message>.size &+ 64) else { return nil }
    free(probe)
    return FailureText()
  }
}
