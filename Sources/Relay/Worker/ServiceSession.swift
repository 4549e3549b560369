import Client
import CAPNS
import Glibc

/// The library's session in an event loop: no call blocks.
final class ServiceSession {
  enum Taking {
    case taken
    /// The window is full until others have their outcome.
    case full
    /// It is invalid, for this reason.
    case refused(String)
  }

  private let handle: OpaquePointer
  private let log: SessionLines?
  /// All credentials so far: the session calls back for tokens while it exists, and old ones may
  /// still have open connections.
  private var credentials: [RelayCredentials]
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var flights = Flights()
  private let push = OutgoingPush()
  /// The buffer for payloads.
  @exclusivity(unchecked) private var space: [UInt8] = []
  private let event = UnsafeMutablePointer<apns_event_t>.allocate(capacity: 1)
  let descriptor: CInt
  /// The session's count of received bytes when it last had no connection.
  private var unheard: UInt64 = 0

  init(_ app: AppConfiguration, _ credentials: RelayCredentials, log: SessionLines?) throws {
    let strings = LentStrings()
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.protocol = Int32(APNS_PROTOCOL_HTTP2.rawValue)
    let peer = app.servicePeer
    options.peer = peer.lent(strings)
    options.peer.nonblocking = 1
    options.environment = peer.environment
    options.topic = strings.lend(app.topic)
    options.window_bytes = UInt32(app.limits.windowBytes)
    options.connections = UInt32(app.limits.connections)
    options.outcomes = Int32(APNS_OUTCOMES_EACH.rawValue)
    // Waiting notifications belong to the queue, which has its own deadlines.
    options.deadline_ms = -1
    options.delivery = Int32(
      (app.delivery == .atMostOnce ? APNS_DELIVERY_AT_MOST_ONCE : APNS_DELIVERY_AT_LEAST_ONCE)
        .rawValue)
    var tuning = apns_tuning_t()
    tuning.size = MemoryLayout<apns_tuning_t>.size
    let retryMS = Int32(app.retry.withinS * 1000)
    tuning.retry_timeout_ms = retryMS == 0 ? -1 : retryMS
    log?.register(in: &options)
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try withUnsafePointer(to: tuning) { (tuning) throws(LibraryError) in
        options.tuning = tuning
        try calling { apns_session_new(&options, credentials.handle, &handle, $0) }
      }
    }
    self.handle = handle!
    self.log = log
    self.credentials = [credentials]
    descriptor = apns_session_fd(handle)
    event.initialize(to: apns_event_t())
    event.pointee.size = MemoryLayout<apns_event_t>.size
  }

  deinit {
    apns_session_free(handle)
    event.deallocate()
  }

  func use(_ credentials: RelayCredentials) throws(LibraryError) {
    try calling { apns_session_use_credentials(handle, credentials.handle, $0) }
    self.credentials.append(credentials)
  }

  /// Any thread may call it.
  func wake() { _ = apns_session_wake(handle) }

  /// Sets the maximum number of connections, draining ones included.
  func limitConnections(to most: Int) {
    _ = apns_session_limit_connections(handle, UInt32(clamping: most), nil)
  }

  private var counts: apns_session_metrics_t {
    var metrics = apns_session_metrics_t()
    metrics.size = MemoryLayout<apns_session_metrics_t>.size
    _ = apns_session_metrics(handle, &metrics, nil)
    return metrics
  }

  /// The number of connections, connecting and draining ones included.
  var connectionCount: Int {
    let metrics = counts
    return Int(metrics.connecting) + Int(metrics.open) + Int(metrics.draining)
  }

  /// Whether APNs has sent data on an open connection. The handshake alone proves little, because a
  /// certificate is rejected only after it.
  func isReached() -> Bool {
    let metrics = counts
    if metrics.open == 0 { unheard = metrics.bytes_read }
    return metrics.open > 0 && metrics.bytes_read > unheard
  }

  /// Opens a connection as far as possible without blocking. Returns a new error, if any.
  func connect() -> LibraryError? {
    let error = libraryError { apns_session_connect(handle, $0) }
    return error?.status == APNS_ERR_AGAIN ? nil : error
  }

  /// Sends the notification at this position.
  func send(_ held: HeldEntry, at position: Int, replacing: Bool) throws(LibraryError) -> Taking {
    guard let targets = held.targets else { return .refused("it cannot be read") }
    if let fault = push.address(held, replacing: replacing) { return .refused(fault) }
    let number = flights.add(held, position)
    let status: apns_status_t
    do throws(RelayFault) {
      status = try targets.withPush(at: position, &space) { token, payload in
        push.send(to: handle, token: token, payload: payload, number: number)
      }
    } catch {
      _ = flights.take(number)
      return .refused(error.description)
    }
    if status == APNS_OK { return .taken }
    _ = flights.take(number)
    switch status {
    case APNS_ERR_AGAIN, APNS_ERR_FULL: return .full
    case APNS_ERR_ARGUMENT: return .refused(push.failure(status).message)
    default: throw push.failure(status)
    }
  }

  /// Writes, reads and reconnects as far as possible without blocking. Returns a new error, if any.
  func process() -> LibraryError? {
    let flushed = libraryError { apns_session_flush(handle, $0) }
    let error = libraryError { apns_session_process(handle, $0) } ?? flushed
    guard let error, error.status != APNS_ERR_AGAIN, error.status != APNS_DONE else { return nil }
    // The program for provider tokens is running, for a limited time.
    if error.status == APNS_ERR_TIMEOUT, error.cause == APNS_CAUSE_PROVIDER_TOKEN { return nil }
    return error
  }

  /// Passes on all results that have arrived.
  @inline(__always)
  func takeResults(_ take: (inout PushResult) -> Void) {
    while apns_session_next_event(handle, event, 0, nil) == APNS_OK,
      let flight = flights.take(Int(bitPattern: event.pointee.user_data))
    {
      var result = PushResult(flight.held, flight.position, .accepted)
      read(&result)
      take(&result)
    }
  }

  @inline(__always)
  private func read(_ result: inout PushResult) {
    result.httpStatus = Int(event.pointee.http_status)
    result.retryAfterS = Int(event.pointee.retry_after_s)
    result.isAsked = event.pointee.retry_asked != 0
    result.apnsID = withUnsafeBytes(of: &event.pointee.apns_id) { PushID($0) }
    switch UInt32(bitPattern: event.pointee.kind) {
    case APNS_EVENT_ACCEPTED.rawValue: break
    case APNS_EVENT_CANCELLED.rawValue, APNS_EVENT_EXPIRED.rawValue:
      result.kind = .cancelled
      // An earlier response only determines the time of the retry.
      result.httpStatus = 0
      result.reason = text(of: &event.pointee.reason_text)
    case APNS_EVENT_REJECTED.rawValue:
      result.kind = .rejected
      result.code = apns_reason_t(rawValue: UInt32(bitPattern: event.pointee.reason))
      result.reason = text(of: &event.pointee.reason_text)
      if result.reason.isEmpty { result.reason = String(cString: apns_reason_text(result.code)) }
      if event.pointee.http_status == 410 {
        let since = event.pointee.timestamp
        result.goneSince = since > 0 ? since : Int64(time(nil))
      }
    default:
      result.kind = .unknown
      result.reason = text(of: &event.pointee.reason_text)
      if result.reason.isEmpty { result.reason = "the connection ended before a response" }
    }
  }

  /// Writes no more notifications. Those not written end as cancelled.
  func cancelAll() { _ = apns_session_cancel(handle, 0, nil, nil) }

  /// Begins to close; true once it is closed. Notifications without a response end as unknown.
  func close(withinMS milliseconds: Int32) -> Bool {
    libraryError { apns_session_close(handle, milliseconds, $0) }?.status != APNS_ERR_AGAIN
  }

  /// The session's metrics in Prometheus' text format.
  func metrics(ofApp app: String) -> String { SessionMetrics.text(of: handle, app: app) }
}

extension AppConfiguration {
  var servicePeer: Peer {
    var peer = Peer(host: host, serverName: serverName)
    peer.port = UInt16(port)
    peer.isSandbox = environment == .sandbox
    proxy.use(in: &peer)
    return peer
  }

  /// The configured host, or Apple's for the environment.
  var serviceHost: String {
    host ?? (environment == .sandbox ? APNS_HOST_SANDBOX : APNS_HOST_PRODUCTION)
  }
}
