import CAPNS
import CSystem

/// Apple's hosts for one service, by environment.
struct AppleHost {
  let production: StaticString
  let sandbox: StaticString

  #if APNS_HTTP2
    static let push = AppleHost(
      production: "api.push.apple.com", sandbox: "api.sandbox.push.apple.com")
    static let channels = AppleHost(
      production: "api-manage-broadcast.push.apple.com",
      sandbox: "api-manage-broadcast.sandbox.push.apple.com")
  #endif
  #if APNS_BINARY
    static let gateway = AppleHost(
      production: "gateway.push.apple.com", sandbox: "gateway.sandbox.push.apple.com")
    static let feedback = AppleHost(
      production: "feedback.push.apple.com", sandbox: "feedback.sandbox.push.apple.com")
  #endif

  /// The caller's host, or Apple's for the environment.
  @inline(never)
  func host(
    _ given: UnsafePointer<CChar>?, in environment: Int32
  ) throws(Failure) -> UnsafePointer<CChar> {
    let isSandbox: Bool
    switch UInt32(bitPattern: environment) {
    case APNS_ENVIRONMENT_PRODUCTION.rawValue: isSandbox = false
    case APNS_ENVIRONMENT_SANDBOX.rawValue: isSandbox = true
    default:
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("environment is ")
        $0.append(Int(environment))
        $0.append(", not an apns_environment_t")
      }
    }
    guard let given else {
      // A string literal ends in a NUL. (A Swift String would pull in its Unicode tables.)
      let usual = isSandbox ? sandbox : production
      return UnsafeRawPointer(usual.utf8Start).assumingMemoryBound(to: CChar.self)
    }
    if isSandbox, Endpoint.isProduction(given) {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("environment is sandbox, but host is production's: ")
        $0.append(given)
      }
    }
    return given
  }
}
