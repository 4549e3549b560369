import BinaryServer
import HTTPServer
import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A gateway and a feedback service that behave like Apple's, except for their faults. Runs from
/// `start` to `stop`.
package final class SimulatedGateway: Sendable {
  /// nil without the binary interface.
  package var gatewayPort: Int? { world.port(.gateway) }
  package var feedbackPort: Int? { world.port(.feedback) }
  package var http2Port: Int { world.port(.http2) ?? 0 }
  /// nil without channel management.
  package var channelsPort: Int? { world.port(.channels) }
  /// nil without the control API.
  package var controlPort: Int? { controlListener?.port }
  package var ledger: Ledger { service.ledger }
  package var feedback: FeedbackList { service.feedback }
  package var faults: FaultsInForce { service.faults }
  package var service: ControlService { world.service }
  /// Requests to end the run from the control API. The caller decides.
  package let shutdownRequests: AsyncStream<Void>

  private let world: World
  private let controlListener: Listener?
  private let group: MultiThreadedEventLoopGroup
  private let records: RecordFiles

  private init(
    world: World, controlListener: Listener?, shutdownRequests: AsyncStream<Void>,
    group: MultiThreadedEventLoopGroup, records: RecordFiles
  ) {
    self.world = world
    self.controlListener = controlListener
    self.shutdownRequests = shutdownRequests
    self.group = group
    self.records = records
  }

  /// Listens once it returns. Makes missing certificates.
  package static func start(
    _ configuration: Configuration, logger: Logger
  ) async throws -> SimulatedGateway {
    try configuration.certificates.prepare()
    try configuration.certificates.prepareTokenKey()
    var configuration = configuration
    configuration.providerKeys.append(try configuration.certificates.tokenKey)
    let sparedTLS = try FaultsInForce.Contexts(
      configuration.certificates, (configuration.tlsMin, configuration.tlsMax),
      sendsTickets: configuration.sendsTickets)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
    do {
      let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
      let worlds = Worlds(max: configuration.worldsMax) { [configuration] options in
        let configuration = try configuration.ofWorld(options)
        let world = try await World.start(configuration, sparedTLS, group, logger)
        return Worlds.World(
          service: world.service, members: world.members, stop: { await world.stop() })
      }
      let world = try await World.start(
        configuration, sparedTLS, worlds: worlds, requestShutdown: { continuation.yield() },
        group, logger)
      var controlListener: Listener?
      if let port = configuration.controlPort {
        controlListener = try await control(world.service, on: port, group, logger)
      }
      return SimulatedGateway(
        world: world, controlListener: controlListener, shutdownRequests: requests, group: group,
        records: configuration.records)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Cuts all connections. Everything they sent is recorded when it returns.
  package func stop() async -> Totals {
    // Before the event loops end: TLS still needs one to send close_notify. The control API stops
    // first, because it may reopen listeners.
    await controlListener?.close()
    await World.visit(group)
    await service.controlChannels.cut()
    await service.pendingResponses.end()
    await service.worlds?.stop()
    await world.stop()
    try? await group.shutdownGracefully()
    records.accepted?.flush()
    let totals = ledger.totals
    if let ledger = records.ledger {
      ledger.append(Array("{\"summary\":\(totals.json.dropLast())}\n".utf8))
      ledger.flush()
    }
    return totals
  }

  private static func control(
    _ service: ControlService, on port: Int, _ group: MultiThreadedEventLoopGroup, _ logger: Logger
  ) async throws -> Listener {
    let host = "127.0.0.1"
    let numbers = NIOLockedValueBox(0)
    do {
      return try await Listener(port: port, logger: logger) { port in
        ServerBootstrap(group: group)
          .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
          .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
              let number = numbers.withLockedValue { number in
                number += 1
                return number
              }
              service.controlChannels.add(channel, number)
              let pipeline = channel.pipeline.syncOperations
              try pipeline.addHTTP1(inTurn: true, answersFaults: true)
              try pipeline.addHandler(ControlHandler(service: service, logger: logger))
            }
          }
          .bind(host: host, port: port)
      }
    } catch {
      throw ListenError(error, .control, host, port)
    }
  }
}
