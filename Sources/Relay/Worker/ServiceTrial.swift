import Client
import CAPNS

/// Tests the connection to APNs for an app, for `--check`.
struct ServiceTrial {
  let app: AppConfiguration
  let credentials: RelayCredentials

  private var probe: ServiceProbe {
    var options = PushSession.Options()
    options.peer = app.servicePeer
    options.topic = app.topic
    return ServiceProbe(options)
  }

  /// Tests TCP, TLS and HTTP/2's SETTINGS.
  func connect() throws {
    let hasSettings = try withExtendedLifetime(credentials) { () throws(LibraryError) in
      try probe.connect(credentials.handle)
    }
    guard !hasSettings else { return }
    throw RelayFault(
      "\(app.serviceHost): it agrees to HTTP/2 in the handshake, but sends no SETTINGS"
    )
  }

  /// Pushes to an impossible device.
  func push() throws {
    let outcome = try withExtendedLifetime(credentials) { () throws(LibraryError) in
      try probe.push(credentials.handle)
    }
    guard let outcome else {
      throw RelayFault("\(app.serviceHost): it does not respond to a push")
    }
    guard outcome.isBadToken || outcome.kind == .accepted else {
      throw RelayFault("\(app.serviceHost): a push was \(outcome.kind.rawValue): \(outcome.reason)")
    }
  }
}
