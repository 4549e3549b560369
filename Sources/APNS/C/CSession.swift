import CAPNS
import CSystem

/// The session that callers hold.
private typealias ProviderSession = BinarySession<TLSNetwork>

@_cdecl("apns_session_new") @implementation
public func apns_session_new(
  _ options: UnsafePointer<apns_session_options_t>?, _ credentials: OpaquePointer?,
  _ session: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let session else { throw isNull("session_out") }
    let given = try adopt(options)
    let checked = try SessionOptions(given)
    if checked.speaksHTTP2 {
      #if APNS_HTTP2
        session.pointee = try SessionHandle.store { () throws(Failure) in
          let network = try network(
            given, checked, credentials, orHost: "api.push.apple.com", orPort: APNS_PORT_HTTP2)
          return try HTTP2Session.make(
            checked, defaults: RequestDefaults.make(given), tokens: shareToken(credentials),
            network: network)
        }
      #else
        throw Failure(
          APNS_ERR_ARGUMENT, "protocol is HTTP/2, which this library was built without",
          cause: APNS_CAUSE_HTTP2_NOT_BUILT_IN)
      #endif
    } else {
      try requireCertificate(credentials)
      session.pointee = try SessionHandle.store { () throws(Failure) in
        let network = try network(
          given, checked, credentials, orHost: "gateway.push.apple.com", orPort: APNS_PORT_GATEWAY)
        return try ProviderSession.make(checked, network: network)
      }
    }
  }
}

/// The connections to the service: two for each that the options ask for. The second is a standby,
/// or one that is being left and still owes answers.
private func network(
  _ given: apns_session_options_t, _ checked: SessionOptions, _ credentials: OpaquePointer?,
  orHost: StaticString, orPort: Int32
) throws(Failure) -> TLSNetwork {
  let endpoint = try Endpoint(
    given.host, orHost: orHost, serverName: given.server_name, port: given.port, orPort: orPort,
    through: Proxy.make(
      given.proxy_host, port: given.proxy_port, user: given.proxy_user,
      password: given.proxy_password),
    keepAlive: KeepAlive(seconds: given.keepalive_s), speaksHTTP2: checked.speaksHTTP2,
    lookup: NameLookup(given.lookup, given.lookup_context))
  guard
    let network = try TLSNetwork(
      connections: 2 &* checked.connections, to: endpoint, trusting: share(credentials))
  else { throw .outOfMemory }
  return network
}

@_cdecl("apns_session_connect") @implementation
public func apns_session_connect(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try openSession(session).connect() }
}

@_cdecl("apns_session_send") @implementation @_optimize(speed)
public func apns_session_send(
  _ session: OpaquePointer?, _ notification: UnsafePointer<apns_notification_t>?, _ flags: UInt32,
  _ identifier: UnsafeMutablePointer<UInt32>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let session = try openSession(session)
    guard let notification else { throw isNull("notification") }
    try checkFlags(flags)
    let number = try take(session, notification)
    identifier?.pointee = number
    writeTaken(session, flags)
  }
}

@_cdecl("apns_session_send_many") @implementation @_optimize(speed)
public func apns_session_send_many(
  _ session: OpaquePointer?, _ notifications: UnsafePointer<apns_notification_t>?, _ count: Int,
  _ flags: UInt32, _ taken: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  taken?.pointee = 0
  return answer(error) { () throws(Failure) in
    let session = try openSession(session)
    try checkFlags(flags)
    guard count > 0 else {
      if count == 0 { return }
      throw isOutOfRange("count", count)
    }
    guard let notifications else { throw isNull("notifications") }
    // In a program with another version of the structure, the array has another stride.
    let stride = notifications.pointee.size
    var next = UnsafeRawPointer(notifications)
    // Whatever ends the loop, the notifications taken so far are written.
    defer { writeTaken(session, flags) }
    for index in 0..<count {
      let element = next.assumingMemoryBound(to: apns_notification_t.self)
      guard element.pointee.size == stride else {
        throw Failure(APNS_ERR_ARGUMENT) {
          $0.append("notification ")
          $0.append(index)
          $0.append(" has another size than the first")
        }
      }
      _ = try take(session, element)
      taken?.pointee = index &+ 1
      next += stride
      if session.hasFullRecord { try session.write(all: false) }
    }
  }
}

@_cdecl("apns_session_send_payload") @implementation @_optimize(speed)
public func apns_session_send_payload(
  _ session: OpaquePointer?, _ notification: UnsafePointer<apns_notification_t>?,
  _ payload: OpaquePointer?, _ flags: UInt32, _ identifier: UnsafeMutablePointer<UInt32>?,
  _ cut: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  cut?.pointee = 0
  return answer(error) { () throws(Failure) in
    let session = try openSession(session)
    guard let notification else { throw isNull("notification") }
    guard let payload else { throw isNull("payload") }
    try checkFlags(flags)
    let builder = UnsafeMutablePointer<PayloadBuilder>(payload)
    let plan = try plan(of: builder)
    let number = try take(session, notification, builder, plan)
    identifier?.pointee = number
    cut?.pointee = plan.cut
    writeTaken(session, flags)
  }
}

@_cdecl("apns_session_flush") @implementation
public func apns_session_flush(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try openSession(session).flush() }
}

@_cdecl("apns_session_drain") @implementation
public func apns_session_drain(
  _ session: OpaquePointer?, _ timeout: Int32, _ unresolved: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let session = try openSession(session)
    defer { unresolved?.pointee = session.unresolved }
    try session.drain(milliseconds: timeout)
  }
}

@_cdecl("apns_session_next_event") @implementation
public func apns_session_next_event(
  _ session: OpaquePointer?, _ event: UnsafeMutablePointer<apns_event_t>?, _ timeout: Int32,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  var isDone = false
  let status = answer(error) { () throws(Failure) in
    let session = try ownSession(session)
    guard let event else { throw isNull("event_out") }
    // Checked before an outcome is taken, because a wrong structure would lose it.
    _ = try checkedSize(UnsafePointer(event))
    var told = apns_event_t()
    guard try session.nextEvent(&told, milliseconds: timeout) else {
      isDone = true
      return
    }
    try fill(event, with: told)
  }
  return isDone ? APNS_DONE : status
}

@_cdecl("apns_session_stats") @implementation
public func apns_session_stats(
  _ session: OpaquePointer?, _ stats: UnsafeMutablePointer<apns_session_stats_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let session = try ownSession(session)
    guard let stats else { throw isNull("stats_out") }
    var told = apns_session_stats_t()
    session.count(into: &told)
    try fill(stats, with: told)
  }
}

@_cdecl("apns_session_ssl") @implementation
public func apns_session_ssl(_ session: OpaquePointer?) -> OpaquePointer? {
  guard let session else { return nil }
  return try? openSession(session).ssl(session)
}

@_cdecl("apns_session_close") @implementation
public func apns_session_close(
  _ session: OpaquePointer?, _ timeout: Int32, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard try ownSession(session).close(milliseconds: timeout) else {
      throw Failure(APNS_ERR_TIMEOUT, "the session is still closing")
    }
  }
}

@_cdecl("apns_session_free") @implementation
public func apns_session_free(_ session: OpaquePointer?) {
  guard let session else { return }
  let own = SessionHandle(session)
  if own.isForeign { own.leaveToParent() }
  own.discard()
}

// MARK: Checks

/// The session, if this process made it.
@inline(__always)
func ownSession(
  _ session: OpaquePointer?
) throws(Failure) -> SessionHandle {
  guard let session else { throw isNull("session") }
  let own = SessionHandle(session)
  if own.isForeign {
    throw Failure(APNS_ERR_FORKED, "the session was made by the parent process")
  }
  return own
}

/// The session, if this process made it and nobody has closed it.
@inline(__always)
private func openSession(
  _ session: OpaquePointer?
) throws(Failure) -> SessionHandle {
  let own = try ownSession(session)
  if own.isClosed { throw Failure(APNS_ERR_CLOSED, "the session was closed") }
  return own
}

@inline(__always)
private func checkFlags(_ flags: UInt32) throws(Failure) {
  if flags & ~APNS_SEND_MORE != 0 {
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append("flags has unknown bits: ")
      $0.append(flags)
    }
  }
}

@inline(__always)
private func take(
  _ session: SessionHandle, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  given.pointee.size == MemoryLayout<apns_notification_t>.size && !given.pointee.usesReserve
    ? try takeChecked(session, given) : try takeOther(session, given)
}

/// Takes one from a program that knows another version of the structure or did not set it up.
@inline(never)
private func takeOther(
  _ session: SessionHandle, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  var adopted = try adopt(given)
  return try takeChecked(session, &adopted)
}

@_optimize(speed)
@inline(never)
private func takeChecked(
  _ session: SessionHandle, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  guard let payload = given.pointee.payload else {
    throw given.pointee.token == nil
      ? isNull("token", reject: APNS_REJECT_MISSING_TOKEN)
      : isNull("payload", reject: APNS_REJECT_MISSING_PAYLOAD)
  }
  guard given.pointee.payload_length >= 0 else { throw refusal(of: given, payloadMax: 0xFFFF) }
  let bytes = UnsafeRawBufferPointer(start: payload, count: given.pointee.payload_length)
  switch session {
  case .binary(let session):
    let notification = try wireNotification(
      given, bytes, payloadCount: bytes.count, payloadMax: session.pointee.options.payloadMax)
    if session.pointee.options.checks != 0 {
      try check(given, payload: bytes, session.pointee.options)
    }
    return try session.pointee.take(notification, userData: given.pointee.user_data)
  #if APNS_HTTP2
    case .http2(let session):
      return try takeHTTP2(session, given, payload: bytes)
  #endif
  }
}

/// Takes a notification with a builder's payload, which is written to its place in the window.
@_optimize(speed)
private func take(
  _ session: SessionHandle, _ given: UnsafePointer<apns_notification_t>,
  _ builder: UnsafeMutablePointer<PayloadBuilder>, _ plan: PayloadBuilder.Plan
) throws(Failure) -> UInt32 {
  var adopted = try adopt(given)
  guard adopted.payload == nil, adopted.payload_length == 0 else {
    throw Failure(APNS_ERR_ARGUMENT, "the notification has a payload already")
  }
  adopted.payload_length = plan.size
  switch session {
  case .binary(let session):
    let notification = try wireNotification(
      &adopted, UnsafeRawBufferPointer(start: nil, count: 0), payloadCount: plan.size,
      payloadMax: session.pointee.options.payloadMax)
    if session.pointee.options.checks != 0 {
      try check(&adopted, payload: nil, session.pointee.options)
    }
    return try session.pointee.take(
      notification, payloadCount: plan.size, userData: adopted.user_data
    ) {
      builder.pointee.write(plan, to: $0)
      return UnsafeRawBufferPointer(start: $0, count: plan.size)
    }
  #if APNS_HTTP2
    case .http2(let session):
      return try takeHTTP2(session, &adopted, builder, plan)
  #endif
  }
}

@inline(__always)
private func wireNotification(
  _ given: UnsafePointer<apns_notification_t>, _ payload: UnsafeRawBufferPointer,
  payloadCount: Int, payloadMax: Int
) throws(Failure) -> WireNotification {
  let tokenLength = given.pointee.token_length
  guard let token = given.pointee.token, tokenLength > 0, tokenLength <= Int(APNS_TOKEN_MAX),
    payloadCount > 0, payloadCount <= payloadMax,
    given.pointee.priority == 0 || given.pointee.priority == 5 || given.pointee.priority == 10,
    given.pointee.expiry >= Int64(APNS_EXPIRY_ONCE)
  else { throw refusal(of: given, payloadMax: payloadMax) }
  let expiry: UInt32? =
    switch given.pointee.expiry {
    case 0: nil
    case ...0: 0
    case let seconds: UInt32(clamping: seconds)
    }
  return WireNotification(
    token: UnsafeRawBufferPointer(start: token, count: tokenLength), payload: payload,
    expiry: expiry, priority: given.pointee.priority == 0 ? nil : given.pointee.priority)
}

@inline(never)
func refusal(
  of given: UnsafePointer<apns_notification_t>, payloadMax: Int
) -> Failure {
  let notification = given.pointee
  if notification.token == nil { return isNull("token", reject: APNS_REJECT_MISSING_TOKEN) }
  let reject =
    if notification.token_length == 0 {
      APNS_REJECT_MISSING_TOKEN
    } else if notification.token_length < 0 || notification.token_length > Int(APNS_TOKEN_MAX) {
      APNS_REJECT_INVALID_TOKEN_SIZE
    } else if notification.payload_length == 0 {
      APNS_REJECT_MISSING_PAYLOAD
    } else if notification.payload_length < 0 || notification.payload_length > payloadMax {
      APNS_REJECT_INVALID_PAYLOAD_SIZE
    } else {
      APNS_REJECT_PROCESSING_ERROR
    }
  return Failure(APNS_ERR_ARGUMENT, reject: reject) {
    if notification.token_length <= 0 || notification.token_length > Int(APNS_TOKEN_MAX) {
      $0.append("the device token has ")
      $0.append(size: notification.token_length)
      $0.append(" bytes, not 1 to 100")
    } else if notification.payload_length == 0 {
      $0.append("the payload is empty")
    } else if notification.payload_length < 0 || notification.payload_length > payloadMax {
      $0.append("the payload has ")
      $0.append(size: notification.payload_length)
      $0.append(" bytes, more than ")
      $0.append(payloadMax)
    } else if notification.expiry < Int64(APNS_EXPIRY_ONCE) {
      $0.append(expiry: notification.expiry)
    } else {
      $0.append("priority is ")
      $0.append(Int(notification.priority))
      $0.append(", not 5 or 10")
    }
  }
}

/// Writes after the session took something. A failure here is not a failure of the send: what was
/// taken stays in the window, and the next call meets the failure again.
@inline(__always)
private func writeTaken(_ session: SessionHandle, _ flags: UInt32) {
  if flags & APNS_SEND_MORE != 0, !session.hasFullRecord { return }
  try? session.write(all: flags & APNS_SEND_MORE == 0)
}
