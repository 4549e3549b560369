import HTTPServer
import Simulator

/// The page that shows what arrived at a simulator and switches its faults.
package enum DashboardServer {
  package struct Configuration: Sendable {
    package var host: String
    /// 0 takes a free port.
    package var port: Int
    package var languages = Languages()
    /// The gateway's address and certificates, as JSON.
    package var gateway = "null"

    package init(host: String = "127.0.0.1", port: Int) {
      self.host = host
      self.port = port
    }
  }

  /// Listens when it returns its port, and serves until the process ends. The simulator has to keep
  /// recent pushes.
  package static func start(
    _ configuration: Configuration, simulator: SimulatedGateway, wire: ConnectionLog
  ) async throws -> Int {
    let router = PageRouter(simulator: simulator, configuration: configuration, wire: wire)
    let originCheck = OriginCheck(names: ListenerNames(listeningOn: configuration.host))
    do {
      return try await PageServer { await originCheck.respond($0, router) }
        .listen(on: configuration.host, configuration.port)
    } catch {
      throw ListenError(error, .dashboard, configuration.host, configuration.port)
    }
  }
}
