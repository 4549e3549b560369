import CAPNS
import COpenSSL
import CSystem

/// Before a session is freed: waits up to `close_timeout_ms` for the outcomes of its notifications,
/// and logs how many remain without one.
func endGracefully(_ session: OpaquePointer) {
  guard let end = try? pass(WhatIsLeft(), to: session), end.unresolved > 0 else { return }
  var left = end.unresolved
  // Without OpenSSL, which may have ended before a static object, nothing can be sent.
  if end.timeout > 0, OPENSSL_init_ssl(0, nil) != 0 {
    let deadline = Deadline(nanoseconds: Deadline.now &+ end.timeout)
    drain(session, by: deadline)
    close(session, by: deadline)
    left = ((try? pass(WhatIsLeft(), to: session).unknown) ?? 0) &- end.unknown
  }
  if left > 0 { _ = try? pass(Loss(count: left), to: session) }
}

private func drain(_ session: OpaquePointer, by deadline: Deadline) {
  while !deadline.hasPassed {
    let status = apns_session_drain(session, deadline.milliseconds, nil, nil)
    // Retrying cannot fix any other error.
    guard apns_status_is_retryable(status) != 0 else { return }
    goOn(session, by: deadline)
  }
}

private func close(_ session: OpaquePointer, by deadline: Deadline) {
  // Once all outcomes are known, wait for the peer's close_notify, but not for long.
  let closing = Deadline(milliseconds: 1000).earlier(deadline)
  let isDone = (try? pass(WhatIsLeft(), to: session).unresolved) == 0
  let end = isDone ? closing : deadline
  while apns_status_is_retryable(apns_session_close(session, end.milliseconds, nil)) != 0 {
    goOn(session, by: end)
  }
}

/// After an unfinished call: waits until the next one can continue.
private func goOn(_ session: OpaquePointer, by deadline: Deadline) {
  // Some calls do not wait, such as without a provider token.
  let pause: CInt = 10
  let descriptor = apns_session_fd(session)
  var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  poll(&watched, 1, min(deadline.milliseconds, descriptor < 0 ? pause : .max))
  if descriptor >= 0 { _ = apns_session_process(session, nil) }
}

private struct WhatIsLeft: SessionReading {

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) -> (unresolved: UInt64, unknown: UInt64, timeout: Nanoseconds) {
    var stats = apns_session_stats_t()
    session.pointee.count(into: &stats)
    return (stats.unresolved, stats.unknown, session.pointee.options.closeTimeout)
  }
}

/// Logs how many have no outcome.
private struct Loss: SessionReading {
  let count: UInt64

  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) throws(Failure) {
    if let log = session.pointee.log { return log.at(Deadline.now).freed(count) }
    guard session.pointee.options.closeTimeout > 0 else { return }
    let target = LogTarget(
      callback: writeToStandardError, context: nil, level: APNS_LOG_ERROR.rawValue)
    let log = try target.open { session.pointee.describePeer(in: &$0) }
    log?.freed(count)
    log?.end()
  }
}

private func writeToStandardError(
  _ record: UnsafePointer<apns_log_record_t>?, _ context: UnsafeMutableRawPointer?
) {
  guard let record else { return }
  csystem_log(record.pointee.peer, record.pointee.line)
}
