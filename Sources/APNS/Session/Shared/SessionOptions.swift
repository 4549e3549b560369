import CAPNS

/// A session's options, checked, with the defaults filled in.
struct SessionOptions {
  let speaksHTTP2: Bool
  #if APNS_BINARY
    let command: Command
  #endif
  /// Notifications on the wire have identifiers, so that an answer can name one.
  let hasIdentifiers: Bool
  let connectTimeout: Nanoseconds
  let writeTimeout: Nanoseconds
  let answerTimeout: Nanoseconds
  /// HTTP/2; `max`: never.
  let pingAfter: Nanoseconds
  let windowBytes: Int
  let payloadMax: Int
  /// Whether notifications in flight when a connection ends are sent again; else they are unknown.
  let resendsInDoubt: Bool
  let reporting: Reporting
  let userDataFree: apns_user_data_free_t?
  let onOutcome: apns_outcome_t?
  let outcomeContext: UnsafeMutableRawPointer?
  /// 0: a sentinel proves acceptance, where the format has identifiers.
  let quietPeriod: Nanoseconds
  let zeroProves: Bool
  /// How many are used at the same time.
  let connections: Int
  let keepsStandby: Bool
  let maxPause: Nanoseconds
  /// 0: any number.
  let connectsPerMinute: Int64
  /// How long after it was taken a notification has its end; `max`: whenever it comes.
  let deadline: Nanoseconds
  /// Binary: how long before a deadline notifications in flight are proven.
  var proofLead: Nanoseconds { min(5_000_000_000, deadline / 2) }
  /// HTTP/2: for how long a notification is tried again; negative: not at all.
  let retryTimeout: Milliseconds
  /// The pauses before that, after a 5xx and otherwise.
  let serverErrorSchedule: RetrySchedule
  let retrySchedule: RetrySchedule
  /// HTTP/2: notifications to the same device are sent one after the other.
  let keepsDeviceOrder: Bool
  /// Proof is requested for notifications in flight longer than this; `max`: never.
  let proveAfter: Nanoseconds
  /// For an application's event loop: calls do what can be done immediately.
  let neverWaits: Bool
  /// No call waits longer; `max`: as long as it takes.
  let waitMax: Nanoseconds
  let checks: Checks
  let log: LogTarget
  /// How long a session that nobody closed works to close gracefully; 0: not at all.
  let closeTimeout: Nanoseconds

  /// After this number of ends in a row with nothing proven in between, no notification is to
  /// blame. The first one at fault is found by the fifth end; if several are next to each other,
  /// each further one takes one or two. A gateway that has never proven anything gets fewer.
  func unproductiveEndsMax(hasProven: Bool) -> Int { hasProven ? 64 : 12 }

  /// A sentinel proves, so no quiet period is needed. Not when the gateway does not answer one, or
  /// could not name it.
  var usesSentinel: Bool { quietPeriod == 0 && hasIdentifiers }

  /// Maximum number of connections. Each used connection may have a standby beside it, or a
  /// draining one with responses to come; over HTTP/2 one more is for notifications sent apart.
  var places: Int { 2 &* connections &+ (speaksHTTP2 ? 1 : 0) }

  /// -1 waits for ever, which is 73 years; less than that long enough that a silent stream or
  /// connection is abandoned before the call gives up.
  func time(_ milliseconds: Int32) -> Nanoseconds {
    switch milliseconds {
    case 0...: Int64(milliseconds) &* 1_000_000
    case -1: .max / 4
    default: sendTime &+ answerTimeout
    }
  }

  /// How long a call that waits for no outcome may take.
  var sendTime: Nanoseconds { connectTimeout &+ writeTimeout }

  /// When a call that begins to wait now, and would until `deadline`, has to end.
  func limit(_ deadline: Nanoseconds, from now: Nanoseconds) -> Nanoseconds {
    waitMax == .max ? deadline : min(deadline, now &+ waitMax)
  }

  static let smallestWindow = 16 << 10
  static let maxConnections = 64

  init(
    _ given: apns_session_options_t, _ binary: apns_binary_options_t, _ tuning: apns_tuning_t
  ) throws(Failure) {
    switch UInt32(bitPattern: given.protocol) {
    case APNS_PROTOCOL_HTTP2.rawValue: speaksHTTP2 = true
    case APNS_PROTOCOL_BINARY.rawValue: speaksHTTP2 = false
    default: throw Self.refusal("protocol", Int(given.protocol), "not an apns_protocol_t")
    }
    #if APNS_BINARY
      switch UInt32(bitPattern: binary.format) {
      case APNS_FORMAT_DEFAULT.rawValue, APNS_FORMAT_FRAMED.rawValue: command = .framed
      case APNS_FORMAT_ENHANCED.rawValue: command = .enhanced
      case APNS_FORMAT_SIMPLE.rawValue: command = .simple
      default: throw Self.refusal("format", Int(binary.format), "not an apns_format_t")
      }
      hasIdentifiers = command != .simple
    #else
      hasIdentifiers = true
    #endif
    quietPeriod = Self.nanoseconds(binary.quiet_period_ms, or: 0)
    switch UInt32(bitPattern: given.delivery) {
    // If nothing can be proven, all would be resent again and again.
    case APNS_DELIVERY_AT_LEAST_ONCE.rawValue:
      resendsInDoubt = speaksHTTP2 || hasIdentifiers || quietPeriod > 0
    case APNS_DELIVERY_AT_MOST_ONCE.rawValue: resendsInDoubt = false
    default: throw Self.refusal("delivery", Int(given.delivery), "not an apns_delivery_t")
    }
    connectTimeout = Self.nanoseconds(given.peer.connect_timeout_ms, or: 10_000)
    writeTimeout = Self.nanoseconds(tuning.write_timeout_ms, or: 10_000)
    answerTimeout = Self.nanoseconds(tuning.answer_timeout_ms, or: 30_000)
    pingAfter =
      tuning.ping_after_ms < 0
      ? .max : Self.nanoseconds(tuning.ping_after_ms.magnitude, or: 3_600_000)
    if given.deadline_ms < -1 {
      throw Self.refusal("deadline_ms", Int(given.deadline_ms), "not -1, 0 or a number of ms")
    }
    deadline =
      given.deadline_ms < 0 ? .max : Self.nanoseconds(given.deadline_ms.magnitude, or: 300_000)
    if tuning.retry_timeout_ms < -1 {
      throw Self.refusal(
        "retry_timeout_ms", Int(tuning.retry_timeout_ms), "not -1, 0 or a number of ms")
    }
    retryTimeout = tuning.retry_timeout_ms == 0 ? 60_000 : Milliseconds(tuning.retry_timeout_ms)
    retrySchedule = try RetrySchedule(
      tuning.retry_schedule, "retry_schedule", usual: "1,2,4,8,16,32")
    serverErrorSchedule = try RetrySchedule(
      tuning.server_error_schedule, "server_error_schedule", usual: "5,10,20,40")
    keepsDeviceOrder = given.device_order != 0
    // Without identifiers only silence can prove.
    proveAfter =
      binary.prove_after_ms < 0 || !hasIdentifiers && quietPeriod == 0
      ? .max : Self.nanoseconds(binary.prove_after_ms.magnitude, or: 60_000)
    neverWaits = given.peer.nonblocking != 0
    waitMax =
      neverWaits || given.peer.wait_max_ms == 0 ? .max : Int64(given.peer.wait_max_ms) &* 1_000_000
    maxPause = Self.nanoseconds(tuning.reconnect_pause_max_ms, or: 5_000)
    guard let reporting = Reporting(given.outcomes) else {
      throw Self.refusal("outcomes", Int(given.outcomes), "not an apns_outcomes_t")
    }
    self.reporting = reporting
    userDataFree = given.user_data_free
    (onOutcome, outcomeContext) = (given.on_outcome, given.outcome_context)
    zeroProves = binary.zero_proves != 0
    keepsStandby = binary.no_standby == 0
    connectsPerMinute = Int64(tuning.connects_per_minute)
    let all = Int32(APNS_CHECK_ALL.rawValue)
    guard (-1...all).contains(given.checks) else {
      throw Self.refusal("checks", Int(given.checks), "not -1 or bits of apns_check_t")
    }
    let bits = given.checks < 0 ? 0 : UInt32(given.checks == 0 ? all : given.checks)
    #if APNS_BINARY
      let isFramed = !speaksHTTP2 && command == .framed
    #else
      let isFramed = false
    #endif
    checks = Checks(
      ofPayload: bits & APNS_CHECK_PAYLOAD.rawValue != 0,
      ofExpiry: bits & APNS_CHECK_EXPIRY.rawValue != 0, isFramed: isFramed)
    let level = given.log_level == 0 ? Int32(APNS_LOG_INFO.rawValue) : given.log_level
    if level < 0 || level > Int32(APNS_LOG_TRACE.rawValue) {
      throw Self.refusal("log_level", Int(level), "not an apns_log_level_t")
    }
    log = LogTarget(
      callback: given.log, context: given.log_context, level: UInt32(bitPattern: level))
    closeTimeout = Self.nanoseconds(given.close_timeout_ms, or: 0)
    connections = given.connections == 0 ? 1 : Int(given.connections)
    if connections > Self.maxConnections {
      throw Self.refusal("connections", connections, "not 1 to 64")
    }
    if keepsDeviceOrder, !speaksHTTP2, connections > 1 {
      throw Self.refusal(
        "connections", connections, "but with device_order the binary interface takes one")
    }

    payloadMax =
      tuning.payload_max == 0 ? (speaksHTTP2 ? 5120 : 2048) : Int(tuning.payload_max)
    if payloadMax > 0xFFFF {
      throw Self.refusal(
        "payload_max", payloadMax, "more than 65535, the most that a frame can hold")
    }
    windowBytes = given.window_bytes == 0 ? 4 << 20 : Int(given.window_bytes)
    if windowBytes < Self.smallestWindow || windowBytes > 1 << 30 {
      throw Self.refusal("window_bytes", windowBytes, "not 16384 to 1073741824")
    }
    // Each connection has its part. Bookkeeping takes an eighth, and two of the largest frames have
    // to fit.
    if windowBytes / connections < Self.smallestWindow {
      throw Self.refusal("window_bytes", windowBytes, "less than 16384 for each connection")
    }
    if windowBytes / connections / 4 < payloadMax {
      throw Self.refusal(
        "window_bytes", windowBytes, "less than four times payload_max for each connection")
    }
  }

  private static func nanoseconds(_ milliseconds: UInt32, or fallback: UInt32) -> Nanoseconds {
    Int64(milliseconds == 0 ? fallback : milliseconds) &* 1_000_000
  }

  private static func refusal(
    _ option: StaticString, _ value: Int, _ reason: StaticString
  ) -> Failure {
    Failure(APNS_ERR_ARGUMENT) {
      $0.append(option)
      $0.append(" is ")
      $0.append(value)
      $0.append(", ")
      $0.append(reason)
    }
  }
}
