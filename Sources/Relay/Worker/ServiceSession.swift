import APNSLibrary
import CAPNS
import Glibc

/// A notification between its sending and its outcome.
final class Flight {
  let held: HeldEntry
  let position: Int
  let token: String

  init(_ held: HeldEntry, _ position: Int, _ token: String) {
    self.held = held
    self.position = position
    self.token = token
  }
}

/// How the service, or the library, answered.
struct Answer {
  enum Kind { case accepted, rejected, unknown }

  var flight: Flight
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

  func connect() throws(LibraryError) { try calling { apns_session_connect(handle, $0) } }

  func send(_ entry: NewEntry, _ target: EntryTargets.Target, replacing: Bool, _ held: HeldEntry)
    throws(LibraryError) -> Taking
  {
    var token: [UInt8] = []
    if entry.channel == nil {
      do {
        token = try DeviceToken.hex(Array(target.token.utf8))
      } catch {
        return .refused(error.message)
      }
    }
    var notification = apns_notification_t()
    notification.size = MemoryLayout<apns_notification_t>.size
    notification.expiry = entry.expiry.map { $0 == 0 ? Int64(APNS_EXPIRY_ONCE) : $0 } ?? 0
    notification.priority = UInt8(clamping: entry.priority ?? 0)
    if let name = entry.pushType {
      guard let type = Self.pushTypes[name] else {
        return .refused("there is no push type '\(name)'")
      }
      notification.push_type = type
    }
    let flight = Unmanaged.passRetained(Flight(held, target.position, target.token))
    notification.user_data = flight.toOpaque()
    notification.token_length = token.count
    notification.payload_length = target.payload.count
    // A broadcast replaces nothing.
    let collapse = entry.collapseID ?? (replacing && entry.channel == nil ? entry.id : nil)
    let identifier = entry.tokens == nil && Self.isUUID(entry.id) ? entry.id : nil
    let error = token.withUnsafeBytes { token in
      target.payload.withUnsafeBytes { payload in
        notification.token = token.isEmpty ? nil : token.baseAddress
        notification.payload = payload.baseAddress
        return Self.lend(entry.topic) {
          notification.topic = $0
          return Self.lend(collapse) {
            notification.collapse_id = $0
            return Self.lend(identifier) {
              notification.apns_id = $0
              return Self.lend(entry.channel) {
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
    flight.release()
    switch error.status {
    case APNS_ERR_AGAIN, APNS_ERR_FULL: return .full
    case APNS_ERR_ARGUMENT: return .refused(error.message)
    default: throw error
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
    return error
  }

  /// The next answer that has come.
  func next() -> Answer? {
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    guard libraryError({ apns_session_next_event(handle, &event, 0, $0) }) == nil,
      let data = event.user_data
    else { return nil }
    let flight = Unmanaged<Flight>.fromOpaque(data).takeRetainedValue()
    var answer = Answer(flight: flight, kind: .accepted)
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

  private static let pushTypes = Dictionary(
    uniqueKeysWithValues: (1...UInt8(APNS_PUSH_TYPE_CONTROLS.rawValue)).map {
      (String(cString: apns_push_type_text(apns_push_type_t(rawValue: UInt32($0)))), $0)
    })

  static func knows(pushType name: String) -> Bool { pushTypes[name] != nil }

  static func isUUID(_ text: String) -> Bool {
    let bytes = text.utf8
    guard bytes.count == 36 else { return false }
    return zip(0..., bytes).allSatisfy { place, byte in
      [8, 13, 18, 23].contains(place)
        ? byte == UInt8(ascii: "-")
        : (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }
  }
}
