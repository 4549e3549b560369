import CAPNS

@_cdecl("apns_session_send") @implementation @_optimize(speed)
public func apns_session_send(
  _ session: OpaquePointer?, _ notification: UnsafePointer<apns_notification_t>?, _ flags: UInt32,
  _ identifier: UnsafeMutablePointer<UInt32>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  send(
    SendOne(
      notification: notification, flags: flags, identifier: identifier, isChecked: true),
    by: session, error)
}

/// What `sendPayload()` and `apns_session_send()` share.
@_optimize(speed)
@inline(never)
func send(
  _ one: SendOne, by session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try pass(one, to: session) }
}

struct SendOne: SessionCall {
  let notification: UnsafePointer<apns_notification_t>?
  let flags: UInt32
  let identifier: UnsafeMutablePointer<UInt32>?
  /// Whether the session's `checks` are made.
  let isChecked: Bool

  @inline(__always)
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    guard let notification else { throw isNull("notification") }
    try checkFlags(flags)
    let number = try take(session, notification, isChecked: isChecked)
    identifier?.pointee = number
    session.pointee.writeTaken(isMore: flags & APNS_SEND_MORE != 0)
  }
}

@_cdecl("apns_session_send_many") @implementation @_optimize(speed)
public func apns_session_send_many(
  _ session: OpaquePointer?, _ notifications: UnsafePointer<apns_notification_t>?, _ count: Int,
  _ flags: UInt32, _ taken: UnsafeMutablePointer<Int>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  taken?.pointee = 0
  return answer(error) { () throws(Failure) in
    try pass(
      SendMany(notifications: notifications, count: count, flags: flags, taken: taken), to: session)
  }
}

private struct SendMany: SessionCall {
  let notifications: UnsafePointer<apns_notification_t>?
  let count: Int
  let flags: UInt32
  let taken: UnsafeMutablePointer<Int>?

  @_optimize(speed)
  @inline(__always)
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    try checkFlags(flags)
    guard count > 0 else {
      if count == 0 { return }
      throw isOutOfRange("count", count)
    }
    guard let notifications else { throw isNull("notifications") }
    // In a program with another version of the structure, the array has another stride.
    let stride = notifications.pointee.size
    var next = UnsafeRawPointer(notifications)
    // The notifications queued so far are written even if the loop ends early.
    defer { session.pointee.writeTaken(isMore: flags & APNS_SEND_MORE != 0) }
    for index in 0..<count {
      let element = next.assumingMemoryBound(to: apns_notification_t.self)
      guard element.pointee.size == stride else {
        throw Failure(APNS_ERR_ARGUMENT) {
          $0.append("notification ")
          $0.append(index)
          $0.append(" has a different size from the first")
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
    try pass(
      SendPayload(
        notification: notification, payload: payload, flags: flags, identifier: identifier,
        cut: cut),
      to: session)
  }
}

private struct SendPayload: SessionCall {
  let notification: UnsafePointer<apns_notification_t>?
  let payload: OpaquePointer?
  let flags: UInt32
  let identifier: UnsafeMutablePointer<UInt32>?
  let cut: UnsafeMutablePointer<Int>?

  @_optimize(speed)
  @inline(__always)
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    guard let notification else { throw isNull("notification") }
    guard let payload else { throw isNull("payload") }
    try checkFlags(flags)
    let builder = UnsafeMutablePointer<PayloadBuilder>(payload)
    let (number, cutOut) = try take(session, notification, builder)
    identifier?.pointee = number
    cut?.pointee = cutOut
    session.pointee.writeTaken(isMore: flags & APNS_SEND_MORE != 0)
  }
}

@_cdecl("apns_session_push") @implementation
public func apns_session_push(
  _ session: OpaquePointer?, _ notification: UnsafePointer<apns_notification_t>?,
  _ timeout: Int32, _ event: UnsafeMutablePointer<apns_event_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let event else { throw isNull("event_out") }
    // A wrong structure would lose the outcome.
    _ = try checkedSize(UnsafePointer(event))
    var told = apns_event_t()
    try withUnsafeMutablePointer(to: &told) { (told) throws(Failure) in
      if let notification {
        try pass(
          PushOne(notification: notification, milliseconds: timeout, told: told), to: session)
      } else {
        try pass(PushOn(milliseconds: timeout, told: told), to: session)
      }
    }
    try fill(event, from: &told)
  }
}

/// Queues one and returns its outcome.
private struct PushOne: SessionCall {
  let notification: UnsafePointer<apns_notification_t>
  let milliseconds: Int32
  let told: UnsafeMutablePointer<apns_event_t>

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    if session.pointee.options.neverWaits {
      throw Failure(
        APNS_ERR_ARGUMENT, "the session is nonblocking: send, and take the outcome as an event")
    }
    if session.pointee.isPushing {
      throw Failure(APNS_ERR_ARGUMENT, "an earlier push has no outcome yet")
    }
    session.pointee.pushEnds = session.pointee.deadline(milliseconds: milliseconds)
    defer { session.pointee.pushEnds = .max }
    _ = try take(session, notification)
    session.pointee.push()
    try reportPushed(session, in: told)
  }
}

/// Continues with the queued notification, even if the session has failed or closed since.
private struct PushOn: SessionCall {
  let milliseconds: Int32
  let told: UnsafeMutablePointer<apns_event_t>
  static var isForClosed: Bool { true }

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    if !session.pointee.isPushing { throw isNull("notification") }
    session.pointee.pushEnds = session.pointee.deadline(milliseconds: milliseconds)
    defer { session.pointee.pushEnds = .max }
    try reportPushed(session, in: told)
  }
}

@inline(never)
private func reportPushed(
  _ session: UnsafeMutablePointer<some ProviderSession & ~Copyable>,
  in event: UnsafeMutablePointer<apns_event_t>
) throws(Failure) {
  var reason = Message()
  let outcome = try session.pointee.pushed(or: &reason)
  if reason.count == 0 { reason = session.pointee.lastEnd }
  session.pointee.report(outcome, in: &event.pointee)
  guard outcome.response == nil else { return }
  switch outcome.outcome {
  case .unknown, .cancelled, .expired:
    withUnsafeMutableBytes(of: &event.pointee.reason_text) { reason.copy(to: $0) }
  default: break
  }
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
  _ session: UnsafeMutablePointer<some ProviderSession & ~Copyable>,
  _ given: UnsafePointer<apns_notification_t>, isChecked: Bool = true
) throws(Failure) -> UInt32 {
  let checks = isChecked ? session.pointee.options.checks : .none
  return given.pointee.size == MemoryLayout<apns_notification_t>.size && !given.pointee.usesReserve
    && given.pointee.token_length < HexToken.minLength
    ? try takeKnown(session, given, neededChecks(given, checks, session.pointee.passed))
    : try takeOther(session, given, checks.isNone ? .none : .all)
}

/// Takes one from a program that knows another version of the structure or did not set it up, or
/// with a token that may be hexadecimal text.
@inline(never)
private func takeOther(
  _ session: UnsafeMutablePointer<some ProviderSession & ~Copyable>,
  _ given: UnsafePointer<apns_notification_t>, _ needed: NeededChecks
) throws(Failure) -> UInt32 {
  var adopted = try adopt(given)
  try refuseHexToken(&adopted, payloadCount: adopted.payload_length)
  return try takeKnown(session, &adopted, needed)
}

@inline(__always)
private func refuseHexToken(
  _ given: UnsafePointer<apns_notification_t>, payloadCount: Int
) throws(Failure) {
  guard !given.hasHexToken || given.namesChannel else {
    throw .refusal(of: given, payloadCount: payloadCount, payloadMax: 0xFFFF)
  }
}

@_optimize(speed)
@inline(never)
private func takeKnown(
  _ session: UnsafeMutablePointer<some ProviderSession & ~Copyable>,
  _ given: UnsafePointer<apns_notification_t>, _ needed: NeededChecks
) throws(Failure) -> UInt32 {
  guard let start = given.pointee.payload else {
    throw given.pointee.token == nil && !given.namesChannel
      ? isNull("token", reject: APNS_REJECT_MISSING_TOKEN)
      : isNull("payload", reject: APNS_REJECT_MISSING_PAYLOAD)
  }
  let count = given.pointee.payload_length
  guard count >= 0 else {
    throw .refusal(of: given, payloadCount: count, payloadMax: 0xFFFF)
  }
  let payload = UnsafeRawBufferPointer(start: start, count: count)
  let notification = try session.pointee.notification(
    given, payload: payload, payloadCount: count, isPassed: needed == .ofPushType)
  switch needed {
  case .none: break
  case .ofPushType: try session.pointee.checkPassed(notification)
  case .all: try check(notification, of: given, payload, session)
  }
  return try session.pointee.take(
    notification, payloadCount: count, deadline: given.pointee.deadline_ms,
    userData: given.pointee.user_data
  ) { _ in payload }
}

@inline(never)
private func check<Session: ProviderSession & ~Copyable>(
  _ notification: Session.Notification, of given: UnsafePointer<apns_notification_t>,
  _ payload: UnsafeRawBufferPointer, _ session: UnsafeMutablePointer<Session>
) throws(Failure) {
  let checks = session.pointee.options.checks
  try check(given, payload: payload, checks, &session.pointee.passed)
  try checkBroadcast(given, checks) { ActivityStart.isMeant(by: payload) }
  if checks.ofPayload {
    try session.pointee.check(notification, session.pointee.passed.traits)
  }
}

/// Takes a notification with a builder's payload, which is written to its place in the session. Returns
/// how many bytes of its text were cut, too.
@_optimize(speed)
@inline(never)
private func take(
  _ session: UnsafeMutablePointer<some ProviderSession & ~Copyable>,
  _ given: UnsafePointer<apns_notification_t>,
  _ builder: UnsafeMutablePointer<PayloadBuilder>
) throws(Failure) -> (UInt32, Int) {
  var adopted = try adopt(given)
  guard adopted.payload == nil, adopted.payload_length == 0 else {
    throw Failure(APNS_ERR_ARGUMENT, "the notification has a payload already")
  }
  if adopted.push_type == 0, builder.pointee.isActivity {
    adopted.push_type = UInt8(truncatingIfNeeded: APNS_PUSH_TYPE_LIVEACTIVITY.rawValue)
  }
  let plan = try plan(of: builder, within: session.pointee.maxPayload(&adopted))
  try refuseHexToken(&adopted, payloadCount: plan.size)
  let notification = try session.pointee.notification(
    &adopted, payload: UnsafeRawBufferPointer(start: nil, count: 0), payloadCount: plan.size,
    isPassed: false)
  let checks = session.pointee.options.checks
  if !checks.isNone {
    try check(&adopted, payload: nil, checks, &session.pointee.passed)
    try checkBroadcast(&adopted, checks) { builder.pointee.startsActivity }
    if checks.ofPayload {
      try check(builder.pointee.finding)
      try session.pointee.check(notification, builder.pointee.traits)
    }
  }
  let number = try session.pointee.take(
    notification, payloadCount: plan.size, deadline: adopted.deadline_ms,
    userData: adopted.user_data
  ) {
    builder.pointee.write(plan, to: $0)
    return UnsafeRawBufferPointer(start: $0, count: plan.size)
  }
  return (number, plan.cut)
}
