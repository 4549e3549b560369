/// A test of a configuration, without a relay.
package enum ConfigurationTrial {
  /// The extent of a check.
  package enum Extent: Comparable {
    case files, connection
    /// Pushes to an impossible device.
    case push
  }

  /// Tests the files and services in the configuration. Returns the errors of each app, and
  /// warnings for the operator.
  package static func run(
    _ configuration: RelayConfiguration, trying extent: Extent
  ) -> (faults: [String], warnings: [String]) {
    var faults: [String] = []
    let queue: any QueueEngine
    do {
      queue = try configuration.queue.open()
      try queue.check()
    } catch {
      return (["queue: \(error)"], [])
    }
    for app in configuration.apps {
      do {
        let credentials = try RelayCredentials(app, queue: queue, log: nil)
        try credentials.tryToken()
        _ = try ServiceSession(app, credentials, log: nil)
        let service = ServiceTrial(app: app, credentials: credentials)
        if extent >= .connection { try service.connect() }
        if extent >= .push { try service.push() }
      } catch {
        faults.append("apps.\(app.name): \(error)")
      }
    }
    var warnings = queue.warnings + configuration.status.warnings.map { "status: \($0)" }
    do {
      _ = try ConsoleAccess.list(configuration.status, apps: configuration.apps.map(\.name))
    } catch {
      faults.append("\(error)")
    }
    for app in configuration.apps {
      warnings += app.webhook.warnings.map { "apps.\(app.name).webhook: \($0)" }
    }
    for listener in configuration.listeners {
      do {
        let own: [String]
        switch listener {
        case .http(let http):
          _ = try RequestDesk.authorization(http, configuration.apps)
          own = http.warnings
        case .binary(let binary):
          _ = try ListenerClients(binary)
          // A certificate that the relay creates is not created by a check.
          if binary.tls.certificate != nil { _ = try ListenerTLS(binary) }
          own = ListenerTLS.warnings(binary)
        }
        warnings += own.map { "listeners.\(listener.name): \($0)" }
      } catch {
        faults.append("listeners.\(listener.name): \(error)")
      }
    }
    return (faults, warnings)
  }
}
