import CAPNS
import CSystem

/// The application's source of provider tokens, and when it was last called.
struct HostToken {
  enum Answer {
    /// A token of `count` bytes, to be used for `seconds`.
    case token(count: Int, seconds: Int64)
    /// No token for `seconds`.
    case notNow(seconds: Int64)
  }

  /// The number of seconds if the application left it at 0.
  private static let usual: Int64 = TokenPolicy.ripeAge
  private static let maximum: Int64 = 86_400
  /// Seconds between calls because APNs refused the token.
  private static let refusalPause: Int64 = 60

  private let ask: apns_provider_token_t
  private let context: UnsafeMutableRawPointer?
  /// The callback is not called again before this time (monotonic).
  private var hasNoneUntil: Int64?
  private var refusedAt: Int64?
  /// Seconds until it is called again after a failure.
  private(set) var failurePause: Int64 = 1

  /// Nil if the options do not have a token callback.
  init?(_ options: apns_credentials_options_t) {
    guard let ask = options.token_callback else { return nil }
    self.ask = ask
    context = options.token_context
  }

  /// Whether the callback may be called, after it had no token or because APNs refused one.
  func isAskable(isRefused: Bool, at now: TokenTime) -> Bool {
    if let hasNoneUntil, now.monotonic < hasNoneUntil { return false }
    if isRefused, let refusedAt, now.monotonic &- refusedAt < Self.refusalPause { return false }
    return true
  }

  /// Calls the callback for a token, which goes to `target`.
  @inline(never)
  mutating func ask(
    _ need: apns_token_need_t, at now: TokenTime, to target: UnsafeMutableRawBufferPointer
  ) throws(Failure) -> Answer {
    if need == APNS_TOKEN_REFUSED { refusedAt = now.monotonic }
    hasNoneUntil = nil
    var request = apns_token_request_t()
    request.size = MemoryLayout<apns_token_request_t>.size
    request.need = Int32(truncatingIfNeeded: need.rawValue)
    request.token = target.baseAddress?.assumingMemoryBound(to: CChar.self)
    request.capacity = min(target.count, Int(APNS_PROVIDER_TOKEN_MAX))
    let capacity = request.capacity
    let length = Int(ask(&request, context))
    let seconds = Int64(request.renew_after_s)
    let pause = seconds == 0 ? 1 : min(seconds, Self.maximum)
    failurePause = length < 0 ? pause : 1
    if length == 0 {
      hasNoneUntil = now.monotonic &+ pause
      return .notNow(seconds: pause)
    }
    guard length > 0 else {
      throw Failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_PROVIDER_TOKEN) {
        $0.append("the token_callback failed")
        Self.append(&request, to: &$0)
      }
    }
    guard length <= capacity,
      Self.isToken(UnsafeRawBufferPointer(rebasing: target[..<length]))
    else {
      throw Failure(
        APNS_ERR_CREDENTIALS,
        "the token_callback gave what is no token: letters, digits and -._~+/= only, without bearer",
        cause: APNS_CAUSE_PROVIDER_TOKEN)
    }
    return .token(
      count: length, seconds: seconds == 0 ? Self.usual : min(seconds, Self.maximum))
  }

  /// The failure without a token, while the application has no other.
  static var none: Failure {
    @inline(never) get {
      Failure(
        APNS_ERR_TIMEOUT, "the token_callback has no provider token at the moment",
        cause: APNS_CAUSE_PROVIDER_TOKEN)
    }
  }

  /// Appends the application's own words.
  private static func append(_ request: inout apns_token_request_t, to message: inout Message) {
    withUnsafeBytes(of: &request.message) { words in
      guard words.count > 0, words[0] != 0 else { return }
      var count = 0
      while count < words.count, words[count] != 0 { count &+= 1 }
      message.append(": ")
      message.append(text: UnsafeRawBufferPointer(rebasing: words[..<count]))
    }
  }

  /// RFC 6750, 2.1: what may follow "bearer ".
  static func isToken(_ text: UnsafeRawBufferPointer) -> Bool {
    for byte in text {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: break
      case 0x2B, 0x2D, 0x2E, 0x2F, 0x3D, 0x5F, 0x7E: break
      default: return false
      }
    }
    return text.count > 0
  }
}
