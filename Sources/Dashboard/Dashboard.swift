import Gateway
import HummingbirdCore
import Logging
import NIOPosix

/// The page that shows what arrived at a simulator, and lets a person be its bad day.
package struct Dashboard: Sendable {
  package struct Configuration: Sendable {
    package var host: String
    /// 0 takes a free one.
    package var port: Int
    package var languages = Languages()
    /// Where the gateway is and with which certificates, as JSON.
    package var gateway = "null"

    package init(host: String = "127.0.0.1", port: Int) {
      self.host = host
      self.port = port
    }
  }

  package let port: Int
  private let run: Task<Void, any Error>

  /// Listens when it comes back. The simulator has to keep sightings.
  package static func start(
    _ configuration: Configuration, simulator: Simulator, wire: WireLog, logger: Logger
  ) async throws -> Dashboard {
    var quiet = logger
    // It takes the end of a run, and whoever goes without a word, for errors.
    quiet.logLevel = .critical
    let desk = PageDesk(simulator: simulator, configuration: configuration, wire: wire)
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let doorkeeper = Doorkeeper(host: configuration.host)
    let server = try HTTPServerBuilder.http1().buildServer(
      configuration: ServerConfiguration(
        address: .hostname(configuration.host, port: configuration.port)),
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: quiet
    ) { (request, writer: consuming ResponseWriter, _) in
      let response = await doorkeeper.answer(request, desk)
      try await writer.write(response: response.head, body: response.body)
    } onServerRunning: { channel in
      continuation.yield(channel.localAddress?.port ?? configuration.port)
    }
    let run = Task {
      defer { continuation.finish() }
      try await server.run()
    }
    for await port in ports { return Dashboard(port: port, run: run) }
    do {
      try await run.value
      throw CancellationError()
    } catch {
      throw ListenError(error, .dashboard, configuration.host, configuration.port)
    }
  }

  /// Lets go of whoever looks on; no run waits for a browser.
  package func stop() { run.cancel() }
}
