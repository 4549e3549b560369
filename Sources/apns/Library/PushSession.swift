import CAPNS
import Glibc

/// One of a list's devices, from its sending to its outcome.
final class Sent {
  let number: Int
  let token: [UInt8]
  /// It may have been sent by the run that this one goes on from.
  let isAgain: Bool

  init(number: Int, token: [UInt8], isAgain: Bool) {
    self.number = number
    self.token = token
    self.isAgain = isAgain
  }
}

/// What is the same for all of a run's notifications.
struct Delivery {
  var topic: String?
  var collapseIdentifier: String?
  var apnsIdentifier: String?
  var expiry: Int64 = 0
  var priority: UInt8 = 0
  var pushType: apns_push_type_t = APNS_PUSH_TYPE_DEFAULT
}

/// How one notification ended.
struct Outcome {
  enum Kind: String { case accepted, rejected, unknown, refused }

  var sent: Sent
  var kind: Kind
  var reason = ""
  var status: Int32 = 0
  var httpStatus: UInt16 = 0
  var timestamp: Int64 = 0
  var apnsIdentifier = ""
  /// UNIX seconds at which a rejection was heard of.
  var heard: Int64 = 0
}

/// The library's session.
final class PushSession {
  struct Options {
    var peer = Peer()
    var isHTTP2 = true
    var topic: String?
    var windowBytes: UInt32 = 0
    var payloadMax: UInt32 = 0
    var connections: UInt32 = 0
    var reportsAmbiguous = false
  }

  private let handle: OpaquePointer
  private let lent = LentStrings()
  private var notification = apns_notification_t()
  /// Why the service was not reached lately, in the library's words; nil once it was. A
  /// notification that was taken is no sign of that: it may wait in the window.
  private(set) var trouble: String?

  init(_ wanted: Options, identity: Identity, delivery: Delivery) throws(LibraryError) {
    let strings = LentStrings()
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.host = strings.lend(wanted.peer.host)
    options.server_name = strings.lend(wanted.peer.serverName)
    options.port = wanted.peer.port
    options.connect_timeout_ms = wanted.peer.connectTimeoutMS
    options.proxy_host = strings.lend(wanted.peer.proxyHost)
    options.proxy_user = strings.lend(wanted.peer.proxyUser)
    options.proxy_password = strings.lend(wanted.peer.proxyPassword)
    options.proxy_port = wanted.peer.proxyPort
    options.protocol = Int32((wanted.isHTTP2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY).rawValue)
    options.topic = strings.lend(wanted.topic)
    options.window_bytes = wanted.windowBytes
    options.payload_max = wanted.payloadMax
    options.connections = wanted.connections
    options.report_accepted = 1
    options.ambiguous = Int32(
      (wanted.reportsAmbiguous ? APNS_AMBIGUOUS_REPORT : APNS_AMBIGUOUS_DEFAULT).rawValue)
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try calling { apns_session_new(&options, identity.handle, &handle, $0) }
    }
    self.handle = handle!
    notification.size = MemoryLayout<apns_notification_t>.size
    notification.expiry = delivery.expiry
    notification.priority = delivery.priority
    notification.push_type = UInt8(delivery.pushType.rawValue)
    notification.topic = lent.lend(delivery.topic)
    notification.collapse_id = lent.lend(delivery.collapseIdentifier)
    notification.apns_id = lent.lend(delivery.apnsIdentifier)
  }

  deinit { apns_session_free(handle) }

  func connect() throws(LibraryError) { try reaching { apns_session_connect(handle, $0) } }

  private func reaching(
    _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
  ) throws(LibraryError) {
    let error = complaint(call)
    note(error)
    if let error { throw error }
  }

  private func note(_ error: LibraryError?) {
    if error == nil {
      trouble = nil
    } else if let error, error.isConnection {
      trouble = error.message
    }
  }

  /// More is to come at once: what waits to be written may wait for it.
  func send(_ sent: Sent, _ payload: [UInt8]) throws(LibraryError) {
    let held = Unmanaged.passRetained(sent)
    notification.token_length = sent.token.count
    notification.payload_length = payload.count
    notification.user_data = held.toOpaque()
    let error = sent.token.withUnsafeBytes { token in
      payload.withUnsafeBytes { payload in
        notification.token = token.baseAddress
        notification.payload = payload.baseAddress
        return complaint { apns_session_send(handle, &notification, APNS_SEND_MORE, nil, $0) }
      }
    }
    if let error {
      note(error)
      held.release()
      throw error
    }
  }

  func flush() throws(LibraryError) { try reaching { apns_session_flush(handle, $0) } }

  /// The next outcome, or nil where none came in so many milliseconds.
  func next(within milliseconds: Int32) throws(LibraryError) -> Outcome? {
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    do throws(LibraryError) {
      try calling { apns_session_next_event(handle, &event, milliseconds, $0) }
    } catch {
      if error.status == APNS_DONE { return nil }
      note(error)
      throw error
    }
    trouble = nil
    guard let data = event.user_data else { return nil }
    let sent = Unmanaged<Sent>.fromOpaque(data).takeRetainedValue()
    var outcome = Outcome(sent: sent, kind: .accepted)
    outcome.apnsIdentifier = event.apns_id.0 == 0 ? "" : text(of: &event.apns_id)
    outcome.httpStatus = event.http_status
    switch UInt32(bitPattern: event.kind) {
    case APNS_EVENT_ACCEPTED.rawValue: break
    case APNS_EVENT_REJECTED.rawValue:
      outcome.kind = .rejected
      outcome.status = event.reject
      outcome.timestamp = event.timestamp
      outcome.heard = Int64(time(nil))
      outcome.reason = text(of: &event.reason_text)
      if outcome.reason.isEmpty {
        outcome.reason = String(
          cString: event.reason != 0
            ? apns_reason_text(apns_reason_t(rawValue: UInt32(bitPattern: event.reason)))
            : apns_reject_text(apns_reject_t(rawValue: UInt32(bitPattern: event.reject))))
      }
    default:
      outcome.kind = .unknown
      let last = text(of: &event.reason_text)
      outcome.reason =
        event.http_status == 0
        ? "the connection ended before the gateway's word"
        : "the service's last word was \(last.isEmpty ? "HTTP \(event.http_status)" : last)"
    }
    return outcome
  }

  /// True once the end of all is known.
  func drain(within milliseconds: Int32) throws(LibraryError) -> Bool {
    do throws(LibraryError) {
      try reaching { apns_session_drain(handle, milliseconds, nil, $0) }
      return true
    } catch {
      if error.status == APNS_ERR_TIMEOUT || error.status == APNS_ERR_FULL { return false }
      throw error
    }
  }

  func close(within milliseconds: Int32) {
    _ = try? calling { apns_session_close(handle, milliseconds, $0) }
  }

  /// Notifications without an end.
  var unresolved: Int { stats.unresolved }
  var resent: Int { stats.resent }

  private var stats: (unresolved: Int, resent: Int) {
    var stats = apns_session_stats_t()
    stats.size = MemoryLayout<apns_session_stats_t>.size
    _ = try? calling { apns_session_stats(handle, &stats, $0) }
    return (Int(stats.unresolved), Int(stats.resent))
  }
}
