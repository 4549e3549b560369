import CAPNS
import CSystem

@_cdecl("apns_session_new") @implementation
public func apns_session_new(
  _ options: UnsafePointer<apns_session_options_t>?, _ credentials: OpaquePointer?,
  _ session: UnsafeMutablePointer<OpaquePointer?>?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    guard let session else { throw isNull("session_out") }
    let given = try adopt(options)
    let (binary, tuning) = (try adopt(given.binary), try adopt(given.tuning))
    let checked = try SessionOptions(given, binary, tuning)
    if checked.speaksHTTP2 {
      #if APNS_HTTP2
        let host = try AppleHost.push.host(given.peer.host, in: given.environment)
        session.pointee = try SessionHandle.store { () throws(Failure) in
          let network = try network(
            given.peer, to: host, tuning, checked, credentials, orPort: APNS_PORT_HTTP2)
          var defaults = try RequestDefaults.make(given, to: host)
          defaults.use(certificateTopics(of: credentials))
          return try HTTP2Session.make(
            checked, defaults: defaults, tokens: shareToken(credentials), network: network)
        }
      #else
        throw Failure(
          APNS_ERR_ARGUMENT,
          "protocol is HTTP/2, which this library was built without: build it with -DAPNS_HTTP2=ON",
          cause: APNS_CAUSE_HTTP2_NOT_BUILT_IN)
      #endif
    } else {
      #if APNS_BINARY
        try requireCertificate(credentials)
        let host = try AppleHost.gateway.host(given.peer.host, in: given.environment)
        session.pointee = try SessionHandle.store { () throws(Failure) in
          let network = try network(
            given.peer, to: host, tuning, checked, credentials, orPort: APNS_PORT_GATEWAY)
          return try BinarySession.make(checked, network: network)
        }
      #else
        throw Failure(
          APNS_ERR_ARGUMENT,
          "protocol is the binary interface, which this library was built without: build it with -DAPNS_BINARY=ON",
          cause: APNS_CAUSE_BINARY_NOT_BUILT_IN)
      #endif
    }
  }
}

@_cdecl("apns_session_use_credentials") @implementation
public func apns_session_use_credentials(
  _ session: OpaquePointer?, _ credentials: OpaquePointer?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try ownSession(session).use(credentials) }
}

@_cdecl("apns_session_limit_connections") @implementation
public func apns_session_limit_connections(
  _ session: OpaquePointer?, _ maximum: UInt32, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try ownSession(session).limitConnections(to: maximum) }
}

@_cdecl("apns_session_connect") @implementation
public func apns_session_connect(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try pass(Connect(), to: session) }
}

private struct Connect: SessionCall {
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) { try session.pointee.connect() }
}

@_cdecl("apns_session_flush") @implementation
public func apns_session_flush(
  _ session: OpaquePointer?, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try pass(Flush(), to: session) }
}

private struct Flush: SessionCall {
  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) { try session.pointee.flush() }
}

@_cdecl("apns_session_drain") @implementation
public func apns_session_drain(
  _ session: OpaquePointer?, _ timeout: Int32, _ unresolved: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    try pass(Drain(milliseconds: timeout, unresolved: unresolved), to: session)
  }
}

private struct Drain: SessionCall {
  let milliseconds: Int32
  let unresolved: UnsafeMutablePointer<Int>?

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    defer { unresolved?.pointee = session.pointee.unresolved }
    try session.pointee.drain(milliseconds: milliseconds)
  }
}

@_cdecl("apns_session_cancel") @implementation
public func apns_session_cancel(
  _ session: OpaquePointer?, _ identifier: UInt32, _ cancelled: UnsafeMutablePointer<Int>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    let count = try pass(Cancel(identifier: identifier), to: session)
    cancelled?.pointee = count
  }
}

private struct Cancel: SessionCall {
  let identifier: UInt32
  static var isForClosed: Bool { true }

  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) -> Int {
    let count = session.pointee.cancel(identifier)
    session.pointee.reportOutcomes()
    return count
  }
}

@_cdecl("apns_session_next_event") @implementation
public func apns_session_next_event(
  _ session: OpaquePointer?, _ event: UnsafeMutablePointer<apns_event_t>?, _ timeout: Int32,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  var isDone = false
  let status = answer(error) { () throws(Failure) in
    guard let event else { throw isNull("event_out") }
    // A wrong structure would lose the outcome.
    _ = try checkedSize(UnsafePointer(event))
    var told = apns_event_t()
    try withUnsafeMutablePointer(to: &told) { (told) throws(Failure) in
      isDone = try !pass(NextOutcome(milliseconds: timeout, told: told), to: session)
    }
    if !isDone { try fill(event, from: &told) }
  }
  return isDone ? APNS_DONE : status
}

/// Takes the next outcome; false without one.
private struct NextOutcome: SessionCall {
  let milliseconds: Int32
  let told: UnsafeMutablePointer<apns_event_t>
  static var isForClosed: Bool { true }

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) -> Bool {
    guard let outcome = try session.pointee.nextOutcome(milliseconds: milliseconds) else {
      return false
    }
    session.pointee.report(outcome, in: &told.pointee)
    return true
  }
}

@_cdecl("apns_session_next_gone") @implementation
public func apns_session_next_gone(
  _ session: OpaquePointer?, _ device: UnsafeMutablePointer<apns_gone_device_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  var isDone = false
  let status = answer(error) { () throws(Failure) in
    guard let device else { throw isNull("device_out") }
    _ = try checkedSize(UnsafePointer(device))
    var told = apns_gone_device_t()
    isDone = try !ownSession(session).takeGone(in: &told)
    if !isDone { try fill(device, with: told) }
  }
  return isDone ? APNS_DONE : status
}

@_cdecl("apns_session_stats") @implementation
public func apns_session_stats(
  _ session: OpaquePointer?, _ stats: UnsafeMutablePointer<apns_session_stats_t>?,
  _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in
    var told = apns_session_stats_t()
    try withUnsafeMutablePointer(to: &told) { (told) throws(Failure) in
      try pass(Count(stats: stats, told: told), to: session)
    }
    if let stats { try fill(stats, with: told) }
  }
}

private struct Count: SessionReading {
  let stats: UnsafeMutablePointer<apns_session_stats_t>?
  let told: UnsafeMutablePointer<apns_session_stats_t>

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    if stats == nil { throw isNull("stats_out") }
    session.pointee.count(into: &told.pointee)
  }
}

@_cdecl("apns_session_close") @implementation
public func apns_session_close(
  _ session: OpaquePointer?, _ timeout: Int32, _ error: UnsafeMutablePointer<apns_error_t>?
) -> apns_status_t {
  answer(error) { () throws(Failure) in try pass(Close(milliseconds: timeout), to: session) }
}

private struct Close: SessionCall {
  let milliseconds: Int32
  static var isForClosed: Bool { true }

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) {
    guard session.pointee.close(milliseconds: milliseconds) else {
      throw session.pointee.options.neverWaits
        ? .notYet : Failure(APNS_ERR_TIMEOUT, "the session is still closing")
    }
  }
}

@_cdecl("apns_session_free") @implementation
public func apns_session_free(_ session: OpaquePointer?) {
  guard let session else { return }
  endGracefully(session)
  SessionHandle(session).discard()
}
