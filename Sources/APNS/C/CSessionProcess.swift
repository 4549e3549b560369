import CAPNS
import CSystem

// Sessions in an event loop.

@_cdecl("apns_session_fd") @implementation
public func apns_session_fd(_ session: OpaquePointer?) -> CInt {
  (try? pass(Watched(), to: session)) ?? -1
}

private struct Watched: SessionReading {
  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) -> CInt {
    session.pointee.descriptor
  }
}

@_cdecl("apns_session_timeout_ms") @implementation
public func apns_session_timeout_ms(_ session: OpaquePointer?) -> Int32 {
  guard let due = try? pass(Due(), to: session), due < .max else { return -1 }
  return Deadline(nanoseconds: due).milliseconds
}

private struct Due: SessionReading {
  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) -> Nanoseconds {
    session.pointee.due
  }
}

@_cdecl("apns_session_process") @implementation
public func apns_session_process(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  var isDone = false
  let status = answer(error) { () throws(Failure) in
    isDone = try !pass(Process(), to: session)
  }
  return isDone ? APNS_DONE : status
}

private struct Process: SessionCall {
  static var isForClosed: Bool { true }
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) -> Bool {
    guard session.pointee.options.neverWaits else {
      throw Failure(APNS_ERR_ARGUMENT, "the session was made without nonblocking")
    }
    return try session.pointee.process()
  }
}

@_cdecl("apns_session_wake") @implementation
public func apns_session_wake(_ session: OpaquePointer?) -> apns_status_t {
  let status = answer(nil) { () throws(Failure) in
    let wakeup = try ownSession(session).passUnlocked(Wakeup())
    guard wakeup >= 0 else {
      throw Failure(APNS_ERR_ARGUMENT, "the session was made without nonblocking")
    }
    csystem_wake(wakeup)
  }
  return status
}

private struct Wakeup: SessionReading {
  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) -> CInt {
    session.pointee.wakeup
  }
}
