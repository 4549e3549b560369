import CAPNS
import Dispatch
import Glibc
import Simulator
import Synchronization

/// Sends a push that came to the gateway once more, by the library and with the simulator's own
/// credentials. The library waits for the answer, so this has a thread of its own.
final class Repetition: Sendable {
  /// Where the gateway is and with which certificates, as the page is told it.
  private let gateway: JSONValue?
  private let queue = DispatchQueue(label: "repetition")
  private let waiting = Atomic(0)

  private static let waitingMax = 16
  private static let connectTime: UInt32 = 5_000
  private static let answerTime: Int32 = 10_000
  /// A binary gateway is silent about what it accepts. The known bad notification that
  /// otherwise proves acceptance would stand in the list beside the push.
  private static let quietTime: UInt32 = 300

  init(gateway: String) { self.gateway = try? JSONParser.read(gateway.utf8) }

  func answer(_ push: RecentPush) async -> PushAnswer {
    if push.token.isEmpty || push.payload.isEmpty {
      return .fault(409, "push \(push.number) has no device token or no payload to send again")
    }
    guard waiting.add(1, ordering: .relaxed).newValue <= Self.waitingMax else {
      waiting.subtract(1, ordering: .relaxed)
      return .fault(429, "\(Self.waitingMax) pushes wait to be sent again already")
    }
    defer { waiting.subtract(1, ordering: .relaxed) }
    return await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: self.send(push)) }
    }
  }

  private func send(_ push: RecentPush) -> PushAnswer {
    let texts = Texts()
    var error = apns_error_t()
    error.size = MemoryLayout<apns_error_t>.size
    var header: [String: String] = [:]
    var isHTTP2 = false
    if case .http2(_, _, let headers) = push.form {
      isHTTP2 = true
      for one in headers { header[one.name] = one.value }
    }

    var credentialOptions = apns_credentials_options_t()
    credentialOptions.size = MemoryLayout<apns_credentials_options_t>.size
    credentialOptions.ca_file = texts.lend(gateway?["ca"]?.string)
    if header["authorization"] != nil {
      credentialOptions.token_key_file = texts.lend(gateway?["token_key"]?.string)
      credentialOptions.key_id = texts.lend(gateway?["token_key_id"]?.string)
      credentialOptions.team_id = texts.lend(gateway?["token_team_id"]?.string)
    } else {
      credentialOptions.certificate_file = texts.lend(gateway?["provider"]?.string)
    }
    var credentials: OpaquePointer?
    guard apns_credentials_new(&credentialOptions, &credentials, &error) == APNS_OK else {
      return failure(&error)
    }
    defer { apns_credentials_free(credentials) }

    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.host = texts.lend(host)
    options.port = port(isHTTP2)
    options.protocol = Int32((isHTTP2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY).rawValue)
    options.connect_timeout_ms = Self.connectTime
    options.report_accepted = 1
    options.no_standby = 1
    // Once, and no more: whoever asked can ask again.
    options.ambiguous = Int32(APNS_AMBIGUOUS_REPORT.rawValue)
    options.retry_timeout_ms = 1
    var notification = apns_notification_t()
    notification.size = MemoryLayout<apns_notification_t>.size
    var expiry: Int64?
    switch push.form {
    case .binary(let command, _, let seconds, let priority):
      options.quiet_period_ms = Self.quietTime
      options.payload_max = UInt32(UInt16.max)
      options.format = Int32(Self.format(command).rawValue)
      expiry = seconds.map(Int64.init)
      notification.priority = priority ?? 0
    case .http2:
      expiry = header["apns-expiration"].flatMap { Int64($0) }
      notification.priority = header["apns-priority"].flatMap { UInt8($0) } ?? 0
      notification.push_type = Self.pushType(header["apns-push-type"])
      notification.topic = texts.lend(header["apns-topic"])
      notification.collapse_id = texts.lend(header["apns-collapse-id"])
    }
    if let expiry {
      // As long as the first one had.
      let left = expiry &- push.time / 1000
      notification.expiry = left > 0 ? Int64(time(nil)) &+ left : Int64(APNS_EXPIRY_ONCE)
    }
    var session: OpaquePointer?
    guard apns_session_new(&options, credentials, &session, &error) == APNS_OK else {
      return failure(&error)
    }
    defer { apns_session_free(session) }
    let status = push.token.withUnsafeBytes { token in
      push.payloadBytes.withUnsafeBytes { payload in
        notification.token = token.baseAddress
        notification.token_length = token.count
        notification.payload = payload.baseAddress
        notification.payload_length = payload.count
        return apns_session_send(session, &notification, 0, nil, &error)
      }
    }
    guard status == APNS_OK else { return failure(&error) }
    _ = apns_session_drain(session, Self.answerTime, nil, nil)
    var event = apns_event_t()
    event.size = MemoryLayout<apns_event_t>.size
    guard apns_session_next_event(session, &event, 0, &error) == APNS_OK else {
      return .fault(504, "the gateway said nothing of it within \(Self.answerTime / 1000) seconds")
    }
    return .json(Self.outcome(&event))
  }

  private static func outcome(_ event: inout apns_event_t) -> String {
    var outcome = "unknown"
    var reason = withUnsafeBytes(of: event.reason_text) { Self.text($0) }
    switch UInt32(bitPattern: event.kind) {
    case APNS_EVENT_ACCEPTED.rawValue: outcome = "accepted"
    case APNS_EVENT_REJECTED.rawValue:
      outcome = "rejected"
      if reason.isEmpty {
        reason = String(
          cString: event.reason != 0
            ? apns_reason_text(apns_reason_t(rawValue: UInt32(bitPattern: event.reason)))
            : apns_reject_text(apns_reject_t(rawValue: UInt32(bitPattern: event.reject))))
      }
    default: break
    }
    return "{\"outcome\":\"\(outcome)\",\"reason\":\(JSONLiteral.string(reason))}"
  }

  private func failure(_ error: inout apns_error_t) -> PushAnswer {
    .fault(502, withUnsafeBytes(of: error.message) { Self.text($0) })
  }

  private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
  }

  private var host: String? {
    switch gateway?["host"]?.string {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    case let host: host
    }
  }

  private func port(_ isHTTP2: Bool) -> UInt16 {
    gateway?[isHTTP2 ? "http2_port" : "gateway_port"]?.integer.flatMap(UInt16.init(exactly:)) ?? 0
  }

  private static func format(_ command: UInt8) -> apns_format_t {
    switch command {
    case 0: APNS_FORMAT_SIMPLE
    case 1: APNS_FORMAT_ENHANCED
    default: APNS_FORMAT_FRAMED
    }
  }

  private static func pushType(_ text: String?) -> UInt8 {
    guard let text else { return 0 }
    let known = 1...UInt32(APNS_PUSH_TYPE_CONTROLS.rawValue)
    let number = known.first {
      String(cString: apns_push_type_text(apns_push_type_t(rawValue: $0))) == text
    }
    return UInt8(number ?? 0)
  }

  /// Texts that structures of C point to while a call borrows them.
  private final class Texts {
    private var copies: [UnsafeMutablePointer<CChar>] = []

    func lend(_ text: String?) -> UnsafePointer<CChar>? {
      guard let text, let copy = strdup(text) else { return nil }
      copies.append(copy)
      return UnsafePointer(copy)
    }

    deinit { for copy in copies { free(copy) } }
  }
}
