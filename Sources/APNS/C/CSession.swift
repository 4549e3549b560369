import CAPNS
import CSystem

/// The session that callers hold.
private typealias ProviderSession = Session<TLSNetwork>

@_cdecl("apns_session_new") @implementation
public func apns_session_new(
  _ options: UnsafePointer<apns_session_options_t>?, _ credentials: OpaquePointer?,
  _ session: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let session else { throw isNull("session_out") }
    let given = try adopt(options, named: "apns_session_options_t")
    let checked = try SessionOptions(given)
    let made = try place { () throws(Failure) in
      let endpoint = try Endpoint(
        given.host, orHost: "gateway.push.apple.com", serverName: given.server_name,
        port: given.port,
        orPort: APNS_PORT_GATEWAY,
        through: Proxy.make(
          given.proxy_host, port: given.proxy_port, user: given.proxy_user,
          password: given.proxy_password),
        keepAlive: KeepAlive(seconds: given.keepalive_s))
      // A line for each connection and one for its standby.
      guard
        let network = try TLSNetwork(
          lines: 2 &* checked.connections, to: endpoint, trusting: share(credentials))
      else { throw .outOfMemory }
      return try ProviderSession.make(checked, network: network)
    }
    session.pointee = OpaquePointer(made)
  }
}

@_cdecl("apns_session_connect") @implementation
public func apns_session_connect(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try openSession(session).pointee.connect() }
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
      throw Failure(APNS_ERR_ARGUMENT, "count is out of range")
    }
    guard let notifications else { throw isNull("notifications") }
    // An array from a program with another version of the structure has another stride.
    let stride = notifications.pointee.size
    var next = UnsafeRawPointer(notifications)
    // What was taken is written whatever ends the loop.
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
      if session.pointee.hasFullRecord { try session.pointee.write(all: false) }
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
  answer(error) { () throws(Failure) in try openSession(session).pointee.flush() }
}

@_cdecl("apns_session_drain") @implementation
public func apns_session_drain(
  _ session: OpaquePointer?, _ timeout: Int32, _ unresolved: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let session = try openSession(session)
    defer { unresolved?.pointee = session.pointee.unresolved }
    try session.pointee.pursue(.ends, by: session.pointee.deadline(milliseconds: timeout))
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
    // Before an outcome is taken that a wrong structure would lose.
    _ = try checkedSize(UnsafePointer(event), named: "apns_event_t")
    guard let next = try session.pointee.nextOutcome(milliseconds: timeout) else {
      isDone = true
      return
    }
    var told = apns_event_t()
    told.identifier = next.identifier
    told.user_data = next.userData
    switch next.outcome {
    case .accepted: told.kind = Int32(bitPattern: APNS_EVENT_ACCEPTED.rawValue)
    case .rejected(let reject):
      told.kind = Int32(bitPattern: APNS_EVENT_REJECTED.rawValue)
      told.reject = Int32(reject)
    case .unknown: told.kind = Int32(bitPattern: APNS_EVENT_UNKNOWN.rawValue)
    }
    try fill(event, with: told, named: "apns_event_t")
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
    session.pointee.count(into: &told)
    try fill(stats, with: told, named: "apns_session_stats_t")
  }
}

@_cdecl("apns_session_close") @implementation
public func apns_session_close(
  _ session: OpaquePointer?, _ timeout: Int32, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let session = try ownSession(session)
    session.pointee.close(by: session.pointee.deadline(milliseconds: timeout))
  }
}

@_cdecl("apns_session_free") @implementation
public func apns_session_free(_ session: OpaquePointer?) {
  guard let session else { return }
  let own = UnsafeMutablePointer<ProviderSession>(session)
  if own.pointee.isForeign { own.pointee.leaveToParent() }
  discard(own)
}

// MARK: Checks

/// The session, if this process made it.
@inline(__always)
private func ownSession(
  _ session: OpaquePointer?
) throws(Failure) -> UnsafeMutablePointer<ProviderSession> {
  guard let session else { throw isNull("session") }
  let own = UnsafeMutablePointer<ProviderSession>(session)
  if own.pointee.isForeign {
    throw Failure(APNS_ERR_FORKED, "the session was made by the parent process")
  }
  return own
}

/// The session, if this process made it and nobody closed it.
@inline(__always)
private func openSession(
  _ session: OpaquePointer?
) throws(Failure) -> UnsafeMutablePointer<ProviderSession> {
  let own = try ownSession(session)
  if own.pointee.isClosed { throw Failure(APNS_ERR_CLOSED, "the session was closed") }
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
  _ session: UnsafeMutablePointer<ProviderSession>, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  given.pointee.size == MemoryLayout<apns_notification_t>.size
    ? try takeChecked(session, given) : try takeOther(session, given)
}

/// From a program that knows another version of the structure.
@inline(never)
private func takeOther(
  _ session: UnsafeMutablePointer<ProviderSession>, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  var adopted = try adopt(given, named: "apns_notification_t")
  return try takeChecked(session, &adopted)
}

@_optimize(speed)
@inline(never)
private func takeChecked(
  _ session: UnsafeMutablePointer<ProviderSession>, _ given: UnsafePointer<apns_notification_t>
) throws(Failure) -> UInt32 {
  guard let payload = given.pointee.payload else {
    throw isNull(given.pointee.token == nil ? "token" : "payload")
  }
  let bytes = UnsafeRawBufferPointer(start: payload, count: max(0, given.pointee.payload_length))
  return try session.pointee.take(
    try wireNotification(given, bytes, payloadCount: bytes.count, session),
    userData: given.pointee.user_data)
}

/// Takes a notification whose payload is written to its place in the window.
@_optimize(speed)
private func take(
  _ session: UnsafeMutablePointer<ProviderSession>, _ given: UnsafePointer<apns_notification_t>,
  _ builder: UnsafeMutablePointer<PayloadBuilder>, _ plan: PayloadBuilder.Plan
) throws(Failure) -> UInt32 {
  var adopted = try adopt(given, named: "apns_notification_t")
  guard adopted.payload == nil, adopted.payload_length == 0 else {
    throw Failure(APNS_ERR_ARGUMENT, "the notification has a payload already")
  }
  adopted.payload_length = plan.size
  return try session.pointee.take(
    try wireNotification(
      &adopted, UnsafeRawBufferPointer(start: nil, count: 0), payloadCount: plan.size, session),
    payloadCount: plan.size, userData: adopted.user_data
  ) {
    builder.pointee.write(plan, to: $0)
    return UnsafeRawBufferPointer(start: $0, count: plan.size)
  }
}

@inline(__always)
private func wireNotification(
  _ given: UnsafePointer<apns_notification_t>, _ payload: UnsafeRawBufferPointer,
  payloadCount: Int, _ session: UnsafeMutablePointer<ProviderSession>
) throws(Failure) -> WireNotification {
  let tokenLength = given.pointee.token_length
  guard let token = given.pointee.token, tokenLength > 0, tokenLength <= Int(APNS_TOKEN_MAX),
    payloadCount > 0, payloadCount <= session.pointee.options.payloadMax,
    given.pointee.priority == 0 || given.pointee.priority == 5 || given.pointee.priority == 10
  else { throw refusal(of: given, session) }
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
private func refusal(
  of given: UnsafePointer<apns_notification_t>, _ session: UnsafeMutablePointer<ProviderSession>
) -> Failure {
  let notification = given.pointee
  let payloadMax = session.pointee.options.payloadMax
  if notification.token == nil { return isNull("token") }
  return Failure(APNS_ERR_ARGUMENT) {
    if notification.token_length <= 0 || notification.token_length > Int(APNS_TOKEN_MAX) {
      $0.append("the device token has ")
      $0.append(notification.token_length)
      $0.append(" bytes, not 1 to 100")
    } else if notification.payload_length <= 0 {
      $0.append("the payload is empty")
    } else if notification.payload_length > payloadMax {
      $0.append("the payload has ")
      $0.append(notification.payload_length)
      $0.append(" bytes, more than ")
      $0.append(payloadMax)
    } else {
      $0.append("priority is ")
      $0.append(Int(notification.priority))
      $0.append(", not 5 or 10")
    }
  }
}

/// Writes after the session took something: a failure now is no failure of the
/// send, for what was taken stays in the window and the next call meets it again.
@inline(__always)
private func writeTaken(_ session: UnsafeMutablePointer<ProviderSession>, _ flags: UInt32) {
  if flags & APNS_SEND_MORE != 0, !session.pointee.hasFullRecord { return }
  try? session.pointee.write(all: flags & APNS_SEND_MORE == 0)
}
