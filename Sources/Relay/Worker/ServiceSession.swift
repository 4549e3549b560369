import APNSLibrary
import CAPNS
import Glibc

/// How the service, or the library, answered.
struct Answer {
  enum Kind { case accepted, rejected, unknown }

  var held: HeldEntry
  /// Its place in the entry's tokens.
  var position: Int
  var kind: Kind
  var reason = ""
  var httpStatus = 0
  /// After so many seconds it may be sent again; 0: there is no point in it.
  var retryAfterS = 0
  var apnsID = ""
  var goneSince: Int64?
  /// The service's reason as a number; 0: there is none.
  var code = apns_reason_t(rawValue: 0)
  /// The token is remembered as refused, and told as feedback with this time.
  var refusedSince: Int64?

  init(_ held: HeldEntry, _ position: Int, _ kind: Kind) {
    self.held = held
    self.position = position
    self.kind = kind
  }

  var token: String { held.token(at: position) }

  func outcome(_ end: PushOutcome.End) -> PushOutcome {
    var outcome = PushOutcome(position: position, token: token, end: end, reason: reason)
    outcome.httpStatus = httpStatus
    outcome.apnsID = apnsID
    outcome.goneSince = goneSince
    outcome.refusedSince = refusedSince
    return outcome
  }
}

/// Notifications between their sending and their outcome. The library gets a number for each, which
/// is used again.
private struct Flights {
  private var all: [(held: HeldEntry, position: Int)?] = []
  private var free: [Int] = []

  mutating func add(_ held: HeldEntry, _ position: Int) -> Int {
    guard let number = free.popLast() else {
      all.append((held, position))
      return all.count
    }
    all[number - 1] = (held, position)
    return number
  }

  mutating func take(_ number: Int) -> (held: HeldEntry, position: Int)? {
    guard all.indices.contains(number - 1), let flight = all[number - 1] else { return nil }
    all[number - 1] = nil
    free.append(number)
    return flight
  }
}

/// The library's session in an event loop: no call waits.
final class ServiceSession {
  enum Taking {
    case taken
    /// There is no room before others have their outcome.
    case full
    /// It cannot be sent as it is.
    case refused(String)
  }

  private let handle: OpaquePointer
  private let log: SessionLines?
  /// The session asks them for tokens as long as it lives: the first ones too, whose connections
  /// may not be closed yet.
  private var credentials: [RelayCredentials]
  private var flights = Flights()
  private var push = EntryTargets.Push()
  let descriptor: CInt

  init(_ app: AppConfiguration, _ credentials: RelayCredentials, log: SessionLines?) throws {
    let strings = LentStrings()
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.protocol = Int32(APNS_PROTOCOL_HTTP2.rawValue)
    options.host = strings.lend(
      app.host
        ?? (app.environment == .sandbox ? APNS_HOST_HTTP2_SANDBOX : APNS_HOST_HTTP2_PRODUCTION))
    options.port = UInt16(app.port)
    options.server_name = strings.lend(app.serverName)
    options.topic = strings.lend(app.topic)
    options.window_bytes = UInt32(app.limits.windowBytes)
    options.connections = UInt32(app.limits.connections)
    options.report_accepted = 1
    options.nonblocking = 1
    options.retry_timeout_ms = UInt32(max(1, app.later.withinS * 1000))
    options.ambiguous = Int32(
      (app.unknown == .record ? APNS_AMBIGUOUS_REPORT : APNS_AMBIGUOUS_RESEND).rawValue)
    log?.ask(in: &options)
    var handle: OpaquePointer?
    try withExtendedLifetime(strings) { () throws(LibraryError) in
      try calling { apns_session_new(&options, credentials.handle, &handle, $0) }
    }
    self.handle = handle!
    self.log = log
    self.credentials = [credentials]
    descriptor = apns_session_fd(handle)
  }

  deinit { apns_session_free(handle) }

  func use(_ credentials: RelayCredentials) throws(LibraryError) {
    try calling { apns_session_use_credentials(handle, credentials.handle, $0) }
    self.credentials.append(credentials)
  }

  /// Any thread may call it.
  func wake() { _ = apns_session_wake(handle) }

  /// At most so many connections from now on, those on their way out included.
  func limitConnections(to most: Int) {
    _ = apns_session_limit_connections(handle, UInt32(clamping: most), nil)
  }

  /// How many there are, those on their way in and out included.
  var connectionCount: Int {
    var metrics = apns_session_metrics_t()
    metrics.size = MemoryLayout<apns_session_metrics_t>.size
    guard apns_session_metrics(handle, &metrics, nil) == APNS_OK else { return 0 }
    return Int(metrics.connecting) + Int(metrics.open) + Int(metrics.draining)
  }

  func connect() throws(LibraryError) { try calling { apns_session_connect(handle, $0) } }

  /// Sends what the entry has at this place.
  func send(_ held: HeldEntry, at position: Int, replacing: Bool) throws(LibraryError) -> Taking {
    do throws(EntryTargets.Fault) {
      try held.targets?.make(&push, at: position)
    } catch {
      return .refused(error.description)
    }
    guard let type = held.pushType else {
      return .refused("there is no push type '\(held.entry.content.pushType ?? "")'")
    }
    let replaced = replacing && held.entry.content.channel == nil
    // A broadcast replaces nothing.
    let collapse = held.entry.content.collapseID ?? (replaced ? held.entry.content.id : nil)
    let identifier = held.hasUUID ? held.entry.content.id : nil
    let number = flights.add(held, position)
    let error = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: DeviceToken.longest) {
      token -> LibraryError? in
      var notification = apns_notification_t()
      notification.size = MemoryLayout<apns_notification_t>.size
      if held.entry.content.channel == nil {
        if let error = readToken(into: token, &notification.token_length) { return error }
        notification.token = UnsafeRawPointer(token.baseAddress)
      }
      notification.expiry =
        held.entry.content.expiry.map { $0 == 0 ? Int64(APNS_EXPIRY_ONCE) : $0 } ?? 0
      notification.priority = UInt8(clamping: held.entry.content.priority ?? 0)
      notification.push_type = type
      notification.user_data = UnsafeMutableRawPointer(bitPattern: number)
      notification.payload_length = push.payload.count
      return push.payload.withUnsafeBytes { payload in
        notification.payload = payload.baseAddress
        return Self.lend(held.entry.content.topic) {
          notification.topic = $0
          return Self.lend(collapse) {
            notification.collapse_id = $0
            return Self.lend(identifier) {
              notification.apns_id = $0
              return Self.lend(held.entry.content.channel) {
                notification.channel_id = $0
                return libraryError {
                  apns_session_send(handle, &notification, APNS_SEND_MORE, nil, $0)
                }
              }
            }
          }
        }
      }
    }
    guard let error else { return .taken }
    _ = flights.take(number)
    switch error.status {
    case APNS_ERR_AGAIN, APNS_ERR_FULL: return .full
    case APNS_ERR_ARGUMENT: return .refused(error.message)
    default: throw error
    }
  }

  private func readToken(
    into token: UnsafeMutableBufferPointer<UInt8>, _ length: inout Int
  ) -> LibraryError? {
    push.token.withUnsafeBytes { text in
      libraryError {
        apns_token_from_hex(
          text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count, token.baseAddress,
          token.count, &length, $0)
      }
    }
  }

  private static func lend<Result>(
    _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
  ) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
  }

  /// Writes, reads and reconnects, as far as that goes without waiting. What it returns is news.
  func process() -> LibraryError? {
    let flushed = libraryError { apns_session_flush(handle, $0) }
    let error = libraryError { apns_session_process(handle, $0) } ?? flushed
    guard let error, error.status != APNS_ERR_AGAIN, error.status != APNS_DONE else { return nil }
    // The program that gives the token is at work, for a limited time.
    if error.status == APNS_ERR_TIMEOUT, error.cause == APNS_CAUSE_PROVIDER_TOKEN { return nil }
    return error
  }

  /// The next answer that has come.
  func next() -> Answer? {
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    guard apns_session_next_event(handle, &event, 0, nil) == APNS_OK,
      let flight = flights.take(Int(bitPattern: event.user_data))
    else { return nil }
    var answer = Answer(flight.held, flight.position, .accepted)
    answer.httpStatus = Int(event.http_status)
    answer.retryAfterS = Int(event.retry_after_s)
    answer.apnsID = event.apns_id.0 == 0 ? "" : text(of: &event.apns_id)
    switch UInt32(bitPattern: event.kind) {
    case APNS_EVENT_ACCEPTED.rawValue: break
    case APNS_EVENT_REJECTED.rawValue:
      answer.kind = .rejected
      answer.code = apns_reason_t(rawValue: UInt32(bitPattern: event.reason))
      answer.reason = text(of: &event.reason_text)
      if answer.reason.isEmpty {
        answer.reason = String(
          cString: apns_reason_text(apns_reason_t(rawValue: UInt32(bitPattern: event.reason))))
      }
      if event.http_status == 410 {
        answer.goneSince = event.timestamp > 0 ? event.timestamp : Int64(time(nil))
      }
    default:
      answer.kind = .unknown
      answer.reason = text(of: &event.reason_text)
      if answer.reason.isEmpty { answer.reason = "the connection ended before an answer" }
    }
    return answer
  }

  /// Begins to close; true once it is closed. What has no answer then ends as unknown.
  func close(withinMS milliseconds: Int32) -> Bool {
    libraryError { apns_session_close(handle, milliseconds, $0) }?.status != APNS_ERR_AGAIN
  }

  /// Its statistics in Prometheus' text format.
  var metrics: String { SessionMetrics.text(of: handle) }

  static let pushTypes = Dictionary(
    uniqueKeysWithValues: (1...UInt8(APNS_PUSH_TYPE_CONTROLS.rawValue)).map {
      (String(cString: apns_push_type_text(apns_push_type_t(rawValue: UInt32($0)))), $0)
    })

  static func knows(pushType name: String) -> Bool { pushTypes[name] != nil }

  static func isUUID(_ text: String) -> Bool {
    text.utf8.count == 36
      && (text.utf8.withContiguousStorageIfAvailable { isUUID($0) } ?? isUUID(Array(text.utf8)))
  }

  private static func isUUID(_ bytes: some RandomAccessCollection<UInt8>) -> Bool {
    var place = 0
    for byte in bytes {
      switch place {
      case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return false }
      default:
        guard byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 else { return false }
      }
      place &+= 1
    }
    return place == 36
  }
}
