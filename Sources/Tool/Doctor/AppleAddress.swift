import CAPNS

/// A name or a port of Apple's that once meant something else, and what answers there today.
struct AppleAddress {
  private static let pushPorts =
    "pushes go to api.push.apple.com or api.sandbox.push.apple.com, port 443 or 2197"

  private let place: ServicePlace
  private let isHTTP2: Bool
  private let name: String

  /// Nil where the service is not Apple's.
  init?(_ place: ServicePlace, isHTTP2: Bool) {
    name = place.host.lowercased()
    guard name.hasSuffix(".push.apple.com") else { return nil }
    self.place = place
    self.isHTTP2 = isHTTP2
  }

  /// Channels are managed there, and nothing is pushed.
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
        "over HTTP/2 a push to a device that is gone is answered with 410: apns feedback --from reads the results of apns send"
      )
    }
    if !isHTTP2 || name.hasPrefix("gateway.") {
      return found(
        "binary-gateway-gone",
        "Apple switched the binary interface off in 2021, and no gateway answers there",
        "speak HTTP/2: leave out --protocol binary, --host and --port; \(Self.pushPorts); programs that speak the binary protocol need a relay"
      )
    }
    if let right = channelsPort {
      guard Int32(place.port) != right else { return nil }
      return found(
        "channels-port", "this service manages broadcast channels at port \(right)",
        "give --port \(right); \(Self.pushPorts)")
    }
    guard let (was, now) = formerly else { return nil }
    return found(
      "port-of-channels",
      "port \(place.port) was the \(was)'s until 2021; today Apple manages broadcast channels there, at \(now)",
      "leave out --port: \(Self.pushPorts); apns channel manages channels")
  }

  /// Whose the port was, and whose it is.
  private var formerly: (was: String, now: String)? {
    switch Int32(place.port) {
    case APNS_PORT_CHANNELS_SANDBOX: ("binary gateway", APNS_CHANNELS_HOST_SANDBOX)
    case APNS_PORT_CHANNELS_PRODUCTION: ("feedback service", APNS_CHANNELS_HOST_PRODUCTION)
    default: nil
    }
  }

  private func found(_ cause: String, _ message: String, _ remedy: String) -> Finding {
    Finding(cause: cause, about: place.name, message: message, remedy: remedy)
  }
}
