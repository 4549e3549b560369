import CAPNS

/// A session's options, checked, with the defaults filled in.
struct SessionOptions {
  let command: Command
  let connectTimeout: Int64
  let writeTimeout: Int64
  let windowBytes: Int
  let payloadMax: Int
  let resendsAmbiguous: Bool
  let reportsAccepted: Bool
  /// 0: a sentinel proves acceptance, where the format has identifiers.
  let quietPeriod: Int64

  static let smallestWindow = 16 << 10

  init(_ given: apns_session_options_t) throws(Failure) {
    switch UInt32(bitPattern: given.format) {
    case APNS_FORMAT_DEFAULT.rawValue, APNS_FORMAT_FRAMED.rawValue: command = .framed
    case APNS_FORMAT_ENHANCED.rawValue: command = .enhanced
    case APNS_FORMAT_SIMPLE.rawValue: command = .simple
    default: throw Self.refusal("format", Int(given.format), "not an apns_format_t")
    }
    switch UInt32(bitPattern: given.ambiguous) {
    case APNS_AMBIGUOUS_DEFAULT.rawValue: resendsAmbiguous = command != .simple
    case APNS_AMBIGUOUS_RESEND.rawValue: resendsAmbiguous = true
    case APNS_AMBIGUOUS_REPORT.rawValue: resendsAmbiguous = false
    default: throw Self.refusal("ambiguous", Int(given.ambiguous), "not an apns_ambiguous_t")
    }
    connectTimeout = given.connect_timeout_ms == 0 ? 10_000 : Int64(given.connect_timeout_ms)
    writeTimeout = given.write_timeout_ms == 0 ? 10_000 : Int64(given.write_timeout_ms)
    quietPeriod = Int64(given.quiet_period_ms)
    reportsAccepted = given.report_accepted != 0

    payloadMax = given.payload_max == 0 ? 2048 : Int(given.payload_max)
    if payloadMax > 0xFFFF {
      throw Self.refusal("payload_max", payloadMax, "more than the 65535 that a frame can say")
    }
    windowBytes = given.window_bytes == 0 ? 4 << 20 : Int(given.window_bytes)
    if windowBytes < Self.smallestWindow || windowBytes > 1 << 30 {
      throw Self.refusal("window_bytes", windowBytes, "not 16384 to 1073741824")
    }
    // Bookkeeping takes an eighth; two of the largest frames are to fit.
    if windowBytes / 4 < payloadMax {
      throw Self.refusal("window_bytes", windowBytes, "less than four times payload_max")
    }
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
