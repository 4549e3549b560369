import CAPNS
import CSystem

@_cdecl("apns_feedback_open") @implementation
public func apns_feedback_open(
  _ options: UnsafePointer<apns_feedback_options_t>?, _ credentials: OpaquePointer?,
  _ feedback: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let feedback else { throw isNull("feedback_out") }
    let given = try adopt(options)
    #if APNS_HTTP2
      if let session = given.session, let gone = try ownSession(session).gone {
        let listed = try place { () throws(Failure) in FeedbackHandle(of: gone) }
        feedback.pointee = OpaquePointer(listed)
        return
      }
    #endif
    try requireCertificate(credentials)
    let opened = try place { () throws(Failure) in
      FeedbackHandle(
        try Feedback.open(
          Endpoint(
            given.peer, at: AppleHost.feedback.host(given.peer.host, in: given.environment),
            orPort: APNS_PORT_FEEDBACK, keepAlive: KeepAlive(milliseconds: 0)),
          trust: share(credentials),
          connectTimeout: given.peer.connect_timeout_ms == 0
            ? 10_000 : Int64(given.peer.connect_timeout_ms),
          limits: FeedbackLimits(given)))
    }
    feedback.pointee = OpaquePointer(opened)
  }
}

@_cdecl("apns_feedback_connect") @implementation
public func apns_feedback_connect(
  _ feedback: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let feedback else { throw isNull("feedback") }
    let own = UnsafeMutablePointer<FeedbackHandle>(feedback)
    if own.pointee.isForeign {
      throw Failure(APNS_ERR_FORKED, "the feedback was opened by the parent process")
    }
    try own.pointee.connect()
  }
}

@_cdecl("apns_feedback_next") @implementation
public func apns_feedback_next(
  _ feedback: OpaquePointer?, _ tuple: UnsafeMutablePointer<apns_feedback_tuple_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  var isDone = false
  let status = answer(error) { () throws(Failure) in
    guard let feedback else { throw isNull("feedback") }
    guard let tuple else { throw isNull("tuple_out") }
    _ = try checkedSize(UnsafePointer(tuple))
    let own = UnsafeMutablePointer<FeedbackHandle>(feedback)
    if own.pointee.isForeign {
      throw Failure(APNS_ERR_FORKED, "the feedback was opened by the parent process")
    }
    guard let next = try own.pointee.next() else {
      isDone = true
      return
    }
    var told = apns_feedback_tuple_t()
    told.timestamp = next.timestamp
    told.token = next.token.baseAddress?.assumingMemoryBound(to: UInt8.self)
    told.token_length = next.token.count
    try fill(tuple, with: told)
  }
  return isDone ? APNS_DONE : status
}

@_cdecl("apns_feedback_fd") @implementation
public func apns_feedback_fd(_ feedback: OpaquePointer?) -> CInt {
  guard let feedback else { return -1 }
  let own = UnsafeMutablePointer<FeedbackHandle>(feedback)
  return own.pointee.isForeign ? -1 : own.pointee.descriptor
}

@_cdecl("apns_feedback_free") @implementation
public func apns_feedback_free(_ feedback: OpaquePointer?) {
  guard let feedback else { return }
  let own = UnsafeMutablePointer<FeedbackHandle>(feedback)
  if own.pointee.isForeign { own.pointee.silence() }
  discard(own)
}
