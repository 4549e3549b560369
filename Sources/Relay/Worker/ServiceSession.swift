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

  private let session: PushSession
  /// All credentials so far: the session calls back for tokens while it exists, and old ones may
  /// still have open connections.
  private var credentials: [RelayCredentials]
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var flights = Flights()
  private let push = OutgoingPush()
  /// The entry of the current push. Retained, so that no other entry gets its address.
  private var entry: HeldEntry?
  private var isReplacing = false
  /// The buffer for payloads.
  @exclusivity(unchecked) private var space: [UInt8] = []
  private let event = UnsafeMutablePointer<apns_event_t>.allocate(capacity: 1)
  /// The session's count of received bytes when it last had no connection.
  private var unheard: UInt64 = 0
  private let connections: Int
  /// The maximum number of connections now.
  private var connectionLimit: Int

  init(_ app: AppConfiguration, _ credentials: RelayCredentials, log: SessionLines?) throws {
    var options = PushSession.Options()
    options.neverWaits = true
    options.peer = app.servicePeer
    options.topic = app.topic
    options.windowBytes = UInt32(app.limits.windowBytes)
    options.connections = UInt32(app.limits.connections)
    options.deliversAtMostOnce = app.delivery == .atMostOnce
    let retryMS = Int32(app.retry.withinS * 1000)
    options.retryTimeoutMS = retryMS == 0 ? -1 : retryMS
    // The relay sends a producer's entries as they are.
    options.checks = -1
    options.log = log
    session = try PushSession(options, credentials: credentials.handle)
    connections = app.limits.connections
    connectionLimit = connections
    self.credentials = [credentials]
    event.initialize(to: apns_event_t())
    event.pointee.size = MemoryLayout<apns_event_t>.size
  }

  deinit { event.deallocate() }

  var descriptor: CInt { session.descriptor }

  func use(_ credentials: RelayCredentials) throws(LibraryError) {
    try session.use(credentials.handle)
    self.credentials.append(credentials)
  }

  func wake() { session.wake() }

  func limitConnections(to most: Int) {
    session.limitConnections(to: most)
    connectionLimit = min(most, connections)
  }

  var openConnections: Int { Int(session.counts.open) }

  /// The number of connections, connecting and draining ones included.
  var connectionCount: Int {
    let metrics = session.counts
    return Int(metrics.connecting) + Int(metrics.open) + Int(metrics.draining)
  }

  /// Whether APNs has sent data on an open connection. The handshake alone proves little, because a
  /// certificate is rejected only after it.
  func isReached() -> Bool {
    let metrics = session.counts
    if metrics.open == 0 { unheard = metrics.bytes_read }
    return metrics.open > 0 && metrics.bytes_read > unheard
  }

  /// One in this many streams of a connection stays free for urgent notifications.
  private static let keptPart = 32

  /// How many notifications can be written now, and how many of these only if they are urgent. It is
  /// one more while there may be another connection, which the session opens for what waits.
  func room() -> (free: Int, kept: Int) {
    let metrics = session.counts
    let free = Int(metrics.free_streams)
    if Int(metrics.open + metrics.connecting) < connectionLimit { return (free + 1, 0) }
    return (free, (free + flights.count) / Self.keptPart)
  }

  func connect() -> LibraryError? { session.open() }
  func process() -> LibraryError? { session.process() }

  /// Sends the notification at this position.
  func send(_ held: HeldEntry, at position: Int, replacing: Bool) throws(LibraryError) -> Taking {
    guard let targets = held.targets else { return .refused("it cannot be read") }
    if let fault = address(held, replacing: replacing) { return .refused(fault) }
    let number = flights.add(held, position)
    let status: apns_status_t
    do throws(RelayFault) {
      status = try targets.withPush(at: position, &space) { token, payload in
        push.send(
          to: session, hex: token, payload: payload,
          userData: UnsafeMutableRawPointer(bitPattern: number))
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

  /// Makes the next pushes those of the entry. Returns the error if they cannot be sent.
  @inline(__always)
  private func address(_ held: HeldEntry, replacing: Bool) -> String? {
    held === entry && replacing == isReplacing ? nil : write(held, replacing)
  }

  private func write(_ held: HeldEntry, _ replacing: Bool) -> String? {
    entry = nil
    guard let type = held.pushType else {
      return "there is no push type '\(held.entry.content.pushType ?? "")'"
    }
    let (priority, expiry) = (held.entry.content.priority, held.entry.content.expiry)
    if let priority, !(1...Int(UInt8.max)).contains(priority) {
      return "priority is \(priority), not 1, 5 or 10"
    }
    if let expiry, expiry < 0 { return "expiry is \(expiry), not 0 or UNIX seconds" }
    let (id, collapse) = (held.entry.content.id, held.entry.content.collapseID)
    var fields = Delivery()
    fields.expiry = expiry.map { $0 == 0 ? Int64(APNS_EXPIRY_ONCE) : $0 } ?? 0
    fields.priority = UInt8(clamping: priority ?? 0)
    fields.pushType = apns_push_type_t(rawValue: UInt32(type))
    fields.topic = held.entry.content.topic
    fields.channel = held.entry.content.channel
    // A broadcast replaces no other.
    fields.collapseIdentifier = collapse ?? (replacing && fields.channel == nil ? id : nil)
    fields.apnsIdentifier = held.hasUUID ? id : nil
    let fault = push.write(fields, collapseName: collapse == nil ? "id" : "collapse_id")
    if let fault { return fault }
    (entry, isReplacing) = (held, replacing)
    return nil
  }

  /// Passes on all results that have arrived.
  @inline(__always)
  func takeResults(_ take: (inout PushResult) -> Void) {
    while session.take(event),
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

  func cancelAll() { session.cancelAll() }
  func close(withinMS milliseconds: Int32) -> Bool { session.hasClosed(within: milliseconds) }

  /// The session's metrics in Prometheus' text format.
  func metrics(ofApp app: String) -> String {
    let text = session.metrics(labels: MetricsLabels.text([("app", app)])) ?? []
    return String(decoding: text, as: UTF8.self)
  }
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
