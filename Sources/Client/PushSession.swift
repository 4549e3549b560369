import CAPNS
import CMetrics
import Glibc

/// A notification between its sending and its outcome.
package final class SentNotification {
  package let number: Int
  /// The device token; empty for a broadcast.
  package let token: [UInt8]
  /// The channel of a broadcast; nil for a device.
  package let channel: String?
  /// An earlier, interrupted run may have sent it already.
  package let isAgain: Bool

  package init(number: Int, token: [UInt8], channel: String? = nil, isAgain: Bool) {
    self.number = number
    self.token = token
    self.channel = channel
    self.isAgain = isAgain
  }
}

package struct SendOutcome {
  package enum Kind: String, CaseIterable { case accepted, rejected, unknown, expired, refused }

  package var sent: SentNotification
  package var kind: Kind
  package var reason = ""
  package var status: Int32 = 0
  package var httpStatus: UInt16 = 0
  package var timestamp: Int64 = 0
  /// The seconds after which a resend makes sense; 0 if it makes no sense, or the time is unknown.
  package var retryAfter: UInt32 = 0
  /// The reason in APNs' last HTTP/2 response for it; empty without a response.
  package var lastReason = ""
  /// The notification's apns-id, or the apns-request-id of a broadcast.
  package var apnsIdentifier = ""
  /// The ID under which Apple's console lists it; empty if the service sent none.
  package var uniqueIdentifier = ""
  /// The UNIX second of the rejection.
  package var rejectedAt: Int64 = 0

  package init(sent: SentNotification, kind: Kind, reason: String = "") {
    self.sent = sent
    self.kind = kind
    self.reason = reason
  }
}

package final class PushSession {
  package struct Options {
    package var peer = Peer()
    package var isHTTP2 = true
    package var topic: String?
    package var windowBytes: UInt32 = 0
    package var payloadMax: UInt32 = 0
    package var connections: UInt32 = 0
    /// Reports notifications in doubt as unknown instead of resending them.
    package var deliversAtMostOnce = false
    /// Notifications to one device are sent one at a time.
    package var keepsOrder = false
    /// The frame format of the binary interface.
    package var format = APNS_FORMAT_DEFAULT
    /// The milliseconds of silence that count as acceptance by a binary gateway; 0 sends a sentinel
    /// instead.
    package var quietPeriodMS: UInt32 = 0
    /// Never resends, never retries, and keeps no standby connection.
    package var sendsOnce = false
    /// How long it retries; 0 is the library's default, -1 is not at all.
    package var retryTimeoutMS: Int32 = 0
    /// The checks of each notification: 0 means all of them, -1 no check.
    package var checks: Int32 = 0
    /// No call waits: an event loop watches `descriptor`.
    package var neverWaits = false
    /// So long after it was queued a notification has its outcome; -1 for no limit.
    package var deadlineMS: Int32 = -1
    /// The longest wait of a call, after which the same call continues; 0 for no limit.
    package var waitMaxMS: UInt32 = 0
    /// Receives the session's log lines; nil for no log.
    package var log: SessionLines?

    package init() {}
  }

  let handle: OpaquePointer
  private let log: SessionLines?
  private let waitMaxMS: UInt32
  private let hasDeadline: Bool
  /// The number of consecutive calls that ended at their wait limit.
  private var slices: UInt32 = 0
  private let push = OutgoingPush()
  private var delivery: Delivery
  /// The library's message about an unreachable service; nil once the service was reached. A queued
  /// notification does not clear it, because it may wait in the window.
  package private(set) var problem: String?

  package convenience init(
    _ wanted: Options, credentials: ProviderCredentials, delivery: Delivery
  ) throws(LibraryError) {
    try self.init(wanted, credentials: credentials.handle, delivery: delivery)
  }

  package init(
    _ wanted: Options, credentials: OpaquePointer, delivery: Delivery = Delivery()
  ) throws(LibraryError) {
    let strings = LentStrings()
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.peer = wanted.peer.lent(strings)
    options.environment = wanted.peer.environment
    options.peer.wait_max_ms = wanted.waitMaxMS
    options.peer.nonblocking = wanted.neverWaits ? 1 : 0
    options.protocol = Int32((wanted.isHTTP2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY).rawValue)
    options.topic = strings.lend(wanted.topic)
    options.window_bytes = wanted.windowBytes
    options.connections = wanted.connections
    options.device_order = wanted.keepsOrder ? 1 : 0
    options.outcomes = Int32(APNS_OUTCOMES_EACH.rawValue)
    options.checks = wanted.checks
    options.deadline_ms = wanted.deadlineMS
    let isOnce = wanted.deliversAtMostOnce || wanted.sendsOnce
    options.delivery = Int32(
      (isOnce ? APNS_DELIVERY_AT_MOST_ONCE : APNS_DELIVERY_AT_LEAST_ONCE).rawValue)
    var binary = apns_binary_options_t()
    binary.size = MemoryLayout<apns_binary_options_t>.size
    binary.format = Int32(wanted.format.rawValue)
    binary.quiet_period_ms = wanted.quietPeriodMS
    binary.no_standby = wanted.sendsOnce ? 1 : 0
    var tuning = apns_tuning_t()
    tuning.size = MemoryLayout<apns_tuning_t>.size
    tuning.payload_max = wanted.payloadMax
    tuning.retry_timeout_ms = wanted.sendsOnce ? -1 : wanted.retryTimeoutMS
    wanted.log?.register(in: &options)
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try withUnsafePointer(to: binary) { (binary) throws(LibraryError) in
        try withUnsafePointer(to: tuning) { (tuning) throws(LibraryError) in
          (options.binary, options.tuning) = (binary, tuning)
          try calling { apns_session_new(&options, credentials, &handle, $0) }
        }
      }
    }
    self.handle = handle!
    log = wanted.log
    waitMaxMS = wanted.waitMaxMS
    hasDeadline = wanted.deadlineMS > 0
    self.delivery = delivery
    if let fault = push.write(delivery) {
      throw LibraryError(status: APNS_ERR_ARGUMENT, message: fault)
    }
  }

  deinit { apns_session_free(handle) }

  package func connect() throws(LibraryError) { try reaching { apns_session_connect(handle, $0) } }

  private func reaching(
    _ call: (UnsafeMutablePointer<apns_error_t>) -> apns_status_t
  ) throws(LibraryError) {
    let error = libraryError(call)
    note(error)
    if let error { throw error }
  }

  private func note(_ error: LibraryError?) {
    guard let error else {
      problem = nil
      slices = 0
      return
    }
    guard error.isConnection, error.cause != APNS_CAUSE_ANSWER_TIMEOUT else { return }
    // A connection attempt may take longer than one slice of the wait without a message.
    slices += 1
    if error.status != APNS_ERR_TIMEOUT || slices * waitMaxMS >= Self.messageDelayMS
      || waitMaxMS == 0
    {
      problem = error.message
    }
  }

  private static let messageDelayMS: UInt32 = 2000

  /// The fields of the notifications that follow.
  package func change(_ delivery: Delivery) {
    self.delivery = delivery
    _ = push.write(delivery)
  }

  /// Leaves the notification in the buffer, because more follow.
  package func send(_ sent: SentNotification, _ payload: [UInt8]) throws(LibraryError) {
    if sent.channel != delivery.channel {
      delivery.channel = sent.channel
      _ = push.write(delivery)
    }
    let held = Unmanaged.passRetained(sent)
    let status = sent.token.withUnsafeBytes { token in
      payload.withUnsafeBytes {
        push.send(to: self, token: token, payload: $0, userData: held.toOpaque())
      }
    }
    guard status != APNS_OK else { return }
    held.release()
    let error = push.failure(status)
    note(error)
    throw error
  }

  package func flush() throws(LibraryError) { try reaching { apns_session_flush(handle, $0) } }

  /// The next outcome; nil if none arrives in time.
  package func next(within milliseconds: Int32) throws(LibraryError) -> SendOutcome? {
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    do throws(LibraryError) {
      try calling { apns_session_next_event(handle, &event, milliseconds, $0) }
    } catch {
      if error.status == APNS_DONE { return nil }
      note(error)
      throw error
    }
    note(nil)
    guard let data = event.user_data else { return nil }
    let sent = Unmanaged<SentNotification>.fromOpaque(data).takeRetainedValue()
    var outcome = SendOutcome(sent: sent, kind: .accepted)
    outcome.apnsIdentifier = event.apns_id.0 == 0 ? "" : text(of: &event.apns_id)
    outcome.uniqueIdentifier = text(of: &event.unique_id)
    outcome.httpStatus = event.http_status
    outcome.retryAfter = event.retry_after_s
    outcome.lastReason = text(of: &event.reason_text)
    switch UInt32(bitPattern: event.kind) {
    case APNS_EVENT_ACCEPTED.rawValue: break
    case APNS_EVENT_REJECTED.rawValue:
      outcome.kind = .rejected
      outcome.status = event.reject
      outcome.timestamp = event.timestamp
      outcome.rejectedAt = Int64(time(nil))
      outcome.reason = outcome.lastReason
      if outcome.reason.isEmpty {
        outcome.reason = String(
          cString: event.reason != 0
            ? apns_reason_text(apns_reason_t(rawValue: UInt32(bitPattern: event.reason)))
            : apns_reject_text(apns_reject_t(rawValue: UInt32(bitPattern: event.reject))))
      }
    case APNS_EVENT_EXPIRED.rawValue:
      outcome.kind = .expired
      outcome.reason = "its deadline passed before it was sent"
      if !outcome.lastReason.isEmpty { outcome.reason += ": \(outcome.lastReason)" }
    default:
      outcome.kind = .unknown
      let last = outcome.lastReason
      outcome.reason =
        event.http_status == 0
        ? (hasDeadline && !last.isEmpty ? last : "the connection ended before a response")
        : "the service's last response was \(last.isEmpty ? "HTTP \(event.http_status)" : last)"
    }
    return outcome
  }

  /// True once all outcomes are known.
  package func drain(within milliseconds: Int32) throws(LibraryError) -> Bool {
    do throws(LibraryError) {
      try reaching { apns_session_drain(handle, milliseconds, nil, $0) }
      return true
    } catch {
      if error.status == APNS_ERR_TIMEOUT || error.status == APNS_ERR_FULL { return false }
      throw error
    }
  }

  /// False if it is not closed yet, which happens only with `waitMaxMS`.
  @discardableResult
  package func close(within milliseconds: Int32) -> Bool {
    libraryError { apns_session_close(handle, milliseconds, $0) }?.status != APNS_ERR_TIMEOUT
  }

  /// Notifications without an outcome.
  package var unresolved: Int { stats.unresolved }
  package var resent: Int { stats.resent }

  /// The session's metrics in Prometheus' text format, with the build's unless they have labels; nil
  /// if memory runs out.
  package func metrics(labels: String? = nil) -> [UInt8]? {
    var text: UnsafeMutablePointer<CChar>?
    var count = 0
    guard let file = open_memstream(&text, &count) else { return nil }
    if labels == nil { write_build_info(file) }
    let isWhole = write_metrics(file, labels, handle) == 0
    let isClosed = fclose(file) == 0
    defer { free(text) }
    guard isWhole, isClosed, let text else { return nil }
    return Array(UnsafeRawBufferPointer(start: text, count: count))
  }

  private var stats: (unresolved: Int, resent: Int) {
    var stats = apns_session_stats_t()
    stats.size = MemoryLayout<apns_session_stats_t>.size
    _ = try? calling { apns_session_stats(handle, &stats, $0) }
    return (Int(stats.unresolved), Int(stats.resent))
  }
}
