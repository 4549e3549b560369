import CAPNS
import CSystem

/// The object of an `apns_channels_t`.
struct ChannelsHandle: ~Copyable {
  var session: ChannelSession<TLSNetwork, ProviderToken>
  private let origin = ProcessOrigin()
  /// What `apns_channels_next` gave last.
  private let listed: UnsafeMutableRawBufferPointer

  init(_ given: apns_channels_options_t, _ credentials: OpaquePointer?) throws(Failure) {
    let made = try Self.make(given, credentials)
    guard let listed = malloc(WholeResponse.maxChannel) else { throw .outOfMemory }
    self.listed = UnsafeMutableRawBufferPointer(start: listed, count: WholeResponse.maxChannel)
    session = made
  }

  private static func make(
    _ given: apns_channels_options_t, _ credentials: OpaquePointer?
  ) throws(Failure) -> ChannelSession<TLSNetwork, ProviderToken> {
    var options = apns_session_options_t()
    options.size = MemoryLayout<apns_session_options_t>.size
    options.peer = given.peer
    let host = try AppleHost.channels.host(given.peer.host, in: given.environment)
    let port =
      given.environment == 0 ? APNS_PORT_CHANNELS_PRODUCTION : APNS_PORT_CHANNELS_SANDBOX
    if given.peer.port == 0 { options.peer.port = UInt16(truncatingIfNeeded: port) }
    // Its wait is the channels' own.
    options.peer.wait_max_ms = 0
    (options.log, options.log_context) = (given.log, given.log_context)
    options.log_level = given.log_level
    // The smallest window, every outcome reported, and no retry after a response.
    options.window_bytes = UInt32(SessionOptions.smallestWindow)
    options.outcomes = Int32(bitPattern: APNS_OUTCOMES_EACH.rawValue)
    var tuning = apns_tuning_t()
    tuning.answer_timeout_ms = given.answer_timeout_ms
    tuning.payload_max = 1024
    tuning.retry_timeout_ms = -1
    tuning.ping_after_ms = -1
    let checked = try SessionOptions(options, apns_binary_options_t(), tuning)
    let topic = given.topic ?? certificateTopics(of: credentials).first
    let app = try HTTP2Request.bundle(topic, reject: APNS_REJECT_NONE)
    let network = try network(
      options.peer, to: host, tuning, checked, credentials, orPort: port)
    return try ChannelSession(
      HTTP2Session.make(
        checked, defaults: RequestDefaults.make(options, to: host), tokens: shareToken(credentials),
        network: network),
      app: app,
      waitMax: given.peer.wait_max_ms == 0 || checked.neverWaits
        ? .max : Int64(given.peer.wait_max_ms) &* 1_000_000)
  }

  deinit { free(listed.baseAddress) }

  var isForeign: Bool { !origin.isHere }

  /// Gives the next channel of the list; false at its end.
  mutating func next(to target: UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Bool {
    let listed = listed
    guard session.next({ $0.copy(to: listed) }) else { return false }
    target.pointee = UnsafePointer(listed.baseAddress?.assumingMemoryBound(to: CChar.self))
    return true
  }
}

/// Copies the response to the last channel management request into a zeroed structure.
func reportResponse(_ response: LastChannelResponse, in told: inout apns_channels_response_t) {
  told.http_status = response.status
  told.reason = Int32(response.reason)
  told.retry_after_s = response.retryAfter
  withUnsafeMutableBytes(of: &told.request_id) { UUIDText.write(response.id, to: $0) }
  withUnsafeMutableBytes(of: &told.reason_text) { response.text.copy(to: $0) }
}
