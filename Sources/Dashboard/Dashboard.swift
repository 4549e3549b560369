import Gateway
import HummingbirdCore
import Logging
import NIOPosix

/// The page that shows what arrived at a simulator, and lets a person be its bad day.
package enum Dashboard {
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

  /// Serves until the process ends, and listens when it comes back with its port. The
  /// simulator has to keep sightings.
  package static func start(
    _ configuration: Configuration, simulator: Simulator, wire: WireLog, logger: Logger
  ) async throws -> Int {
    var quiet = logger
    // It takes whoever goes without a word for an error.
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
    for await port in ports { return port }
    do {
      try await run.value
      throw CancellationError()
    } catch {
      throw ListenError(error, .dashboard, configuration.host, configuration.port)
    }
  }
}
