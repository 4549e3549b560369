import APNSLibrary
import CAPNS

/// Tries the service of an app, as `--check` does it.
struct ServiceTrial {
  private let app: AppConfiguration
  private let credentials: RelayCredentials

  init(_ app: AppConfiguration, _ credentials: RelayCredentials) {
    self.app = app
    self.credentials = credentials
  }

  private var probe: ServiceProbe {
    var options = PushSession.Options()
    options.peer = Peer(host: app.serviceHost, serverName: app.serverName)
    options.peer.port = UInt16(app.port)
    options.topic = app.topic
    return ServiceProbe(options)
  }

  /// TCP, TLS, and the SETTINGS of HTTP/2.
  func connect() throws {
    let hasSettings = try withExtendedLifetime(credentials) { () throws(LibraryError) in
      try probe.connect(credentials.handle)
    }
    guard !hasSettings else { return }
    throw QueueFault(
      description: "\(app.serviceHost): it agrees to HTTP/2 in the handshake, but sends no SETTINGS"
    )
  }

  /// To a device that cannot be.
  func push() throws {
    let outcome = try withExtendedLifetime(credentials) { () throws(LibraryError) in
      try probe.push(credentials.handle)
    }
    guard let outcome else {
      throw QueueFault(description: "\(app.serviceHost): it does not answer a push")
    }
    guard outcome.isBadToken || outcome.kind == .accepted else {
      throw QueueFault(
        description: "\(app.serviceHost): a push was \(outcome.kind.rawValue): \(outcome.reason)")
    }
  }
}
