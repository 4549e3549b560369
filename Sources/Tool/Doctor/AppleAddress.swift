import CAPNS

/// Names and ports of Apple that changed their meaning.
struct AppleAddress {
  private static let pushPorts =
    "pushes go to api.push.apple.com or api.sandbox.push.apple.com, port 443 or 2197"

  private let place: ServicePlace
  private let isHTTP2: Bool
  private let name: String

  /// nil if the service is not Apple's.
  init?(_ place: ServicePlace, isHTTP2: Bool) {
    name = place.host.lowercased()
    guard name.hasSuffix(".push.apple.com") else { return nil }
    self.place = place
    self.isHTTP2 = isHTTP2
  }

  /// The host is for channel management, not for pushes.
  var isForChannels: Bool { isHTTP2 && channelsPort != nil }

  private var channelsPort: Int32? {
    switch name {
    case APNS_CHANNELS_HOST_PRODUCTION: APNS_PORT_CHANNELS_PRODUCTION
    case APNS_CHANNELS_HOST_SANDBOX: APNS_PORT_CHANNELS_SANDBOX
    default: nil
    }
  }

  /// The problem with the address; nil if pushes, or channel management requests, may go there.
  var finding: Finding? {
    if name.hasPrefix("feedback.") {
      return found(
        "feedback-gone",
        "Apple switched the feedback service off in 2021, with the binary interface",
        "over HTTP/2 a push to a gone device gets status 410: apns feedback --from reads the results of apns send"
      )
    }
    if !isHTTP2 || name.hasPrefix("gateway.") {
      return found(
        "binary-gateway-gone",
        "Apple switched the binary interface off in 2021, and no gateway answers at that address",
        "use HTTP/2: leave out --protocol binary, --host and --port; \(Self.pushPorts); programs that speak the binary interface need a relay"
      )
    }
    if let right = channelsPort {
      guard Int32(place.port) != right else { return nil }
      return found(
        "channels-port", "the port for managing broadcast channels is \(right)",
        "give --port \(right); \(Self.pushPorts)")
    }
    guard let (was, now) = formerly else { return nil }
    return found(
      "port-of-channels",
      "port \(place.port) belonged to the \(was) until 2021; today Apple manages broadcast channels at \(now)",
      "leave out --port: \(Self.pushPorts); apns channel manages channels")
  }

  /// The former and the present use of the port.
  private var formerly: (was: String, now: String)? {
    switch Int32(place.port) {
    case APNS_PORT_CHANNELS_SANDBOX: ("binary gateway", APNS_CHANNELS_HOST_SANDBOX)
    case APNS_PORT_CHANNELS_PRODUCTION: ("feedback service", APNS_CHANNELS_HOST_PRODUCTION)
    default: nil
    }
  }

  private func found(_ cause: String, _ message: String, _ remedy: String) -> Finding {
    .problem(cause, place.name, message, remedy)
  }
}
