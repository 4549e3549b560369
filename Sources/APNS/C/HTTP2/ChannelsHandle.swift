import CAPNS
import CSystem

/// What an `apns_channels_t` is.
struct ChannelsHandle: ~Copyable {
  var session: ChannelSession<TLSNetwork, ProviderToken>
  private let origin = ProcessOrigin()
  /// What `apns_channels_next` gave last.
  private let listed: UnsafeMutableRawBufferPointer

  init(_ given: apns_channels_options_t, _ credentials: OpaquePointer?) throws(Failure) {
    let made = try Self.make(given, credentials)
    guard let listed = malloc(WholeAnswer.channelMost) else { throw .outOfMemory }
    self.listed = UnsafeMutableRawBufferPointer(start: listed, count: WholeAnswer.channelMost)
    session = made
  }

  private static func make(
    _ given: apns_channels_options_t, _ credentials: OpaquePointer?
  ) throws(Failure) -> ChannelSession<TLSNetwork, ProviderToken> {
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.protocol = Int32(APNS_PROTOCOL_HTTP2.rawValue)
    let host = try AppleHost.channels.host(given.host, in: given.environment)
    let port =
      given.environment == 0 ? APNS_PORT_CHANNELS_PRODUCTION : APNS_PORT_CHANNELS_SANDBOX
    options.server_name = given.server_name
    options.port = given.port == 0 ? UInt16(truncatingIfNeeded: port) : given.port
    options.connect_timeout_ms = given.connect_timeout_ms
    options.answer_timeout_ms = given.answer_timeout_ms
    (options.proxy_host, options.proxy_port) = (given.proxy_host, given.proxy_port)
    (options.proxy_user, options.proxy_password) = (given.proxy_user, given.proxy_password)
    options.nonblocking = given.nonblocking
    (options.lookup, options.lookup_context) = (given.lookup, given.lookup_context)
    options.addresses = given.addresses
    (options.log, options.log_context) = (given.log, given.log_context)
    options.log_level = given.log_level
    // A window for a request, every end as an outcome, and no second try after an answer.
    options.window_bytes = UInt32(SessionOptions.smallestWindow)
    options.payload_max = 1024
    options.report_accepted = 1
    options.retry_timeout_ms = 1
    options.ping_after_ms = -1
    let checked = try SessionOptions(options)
    let topic = given.topic ?? certificateTopics(of: credentials).first
    let app = try HTTP2Request.bundle(topic, reject: APNS_REJECT_NONE)
    let network = try network(options, to: host, checked, credentials, orPort: port)
    return try ChannelSession(
      HTTP2Session.make(
        checked, defaults: RequestDefaults.make(options, to: host), tokens: shareToken(credentials),
        network: network),
      app: app,
      waitMax: given.wait_max_ms == 0 || checked.neverWaits
        ? .max : Int64(given.wait_max_ms) &* 1_000_000)
  }

  deinit { free(listed.baseAddress) }

  var isForeign: Bool { !origin.isHere }

  /// Gives the next channel of the list; false when there is none.
  mutating func next(to target: UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Bool {
    let listed = listed
    guard session.next({ $0.copy(to: listed) }) else { return false }
    target.pointee = UnsafePointer(listed.baseAddress?.assumingMemoryBound(to: CChar.self))
    return true
  }
}

/// Tells what the service answered to the last request about channels, in a structure that is zero.
func tellAnswer(_ answer: LastChannelAnswer, in told: inout apns_channels_answer_t) {
  told.http_status = answer.status
  told.reason = Int32(answer.reason)
  told.retry_after_s = answer.retryAfter
  if answer.id.0 | answer.id.1 != 0 {
    withUnsafeMutableBytes(of: &told.request_id) { write(answer.id, to: $0) }
  }
  withUnsafeMutableBytes(of: &told.reason_text) { answer.text.copy(to: $0) }
}
