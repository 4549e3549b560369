import BinaryServer
import Dispatch
import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Accepts connections of the binary interface, which Apple switched off in 2021, from legacy
/// providers, and serves feedback about gone devices.
package final class BinaryDoor: Door {
  package let name: String
  package let place: String
  private let context: BinaryDoorContext
  private let group: MultiThreadedEventLoopGroup
  private let listeners: [any Channel]

  private static let threads = max(2, min(4, System.coreCount))
  /// A client has 2 s to close its side, and its reading may take a moment.
  private static let closing = DispatchTimeInterval.seconds(4)

  /// Listens once it returns.
  package init(_ door: BinaryDoorConfiguration, _ relay: DoorRelay) throws {
    name = door.name
    var logger = relay.log
    logger[metadataKey: "door"] = "\(door.name)"
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Self.threads)
    do {
      let tls = try DoorTLS(door)
      for line in tls.news { logger.notice("\(line)") }
      for line in tls.warnings { logger.warning("\(line)") }
      context = BinaryDoorContext(
        relay, try DoorClients(door), tls.context, door, logger)
      listeners = try Self.listen(door, context, group)
    } catch {
      try? group.syncShutdownGracefully()
      throw QueueFault(description: "listeners.\(door.name): \(error)")
    }
    self.group = group
    place = listeners.map { $0.localAddress?.text ?? "" }.joined(separator: ", feedback at ")
  }

  private static func listen(
    _ door: BinaryDoorConfiguration, _ context: BinaryDoorContext,
    _ group: MultiThreadedEventLoopGroup
  ) throws -> [any Channel] {
    var limits = FrameRules(legacyPayloadMax: door.payloadMax)
    limits.framedPayloadMax = door.payloadMax
    let rules = limits
    let gateway = try listen(
      door.host, door.port, "listeners.\(door.name).port", door.portFile, context, group
    ) { channel, logger in
      let connection = DoorConnection(context, logger: logger)
      let handlers: [any ChannelHandler] = [
        try OpenSSLServerHandler(context.tls), HandshakeDeadline(), connection,
        BinaryHandler(rules: rules, delegate: connection, logger: logger),
      ]
      try channel.pipeline.syncOperations.addHandlers(handlers)
    }
    guard let port = door.feedbackPort else { return [gateway] }
    let feedback = try listen(
      door.host, port, "listeners.\(door.name).feedback_port", door.feedbackPortFile, context, group
    ) { channel, logger in
      let handlers: [any ChannelHandler] = [
        ReadingWitness(), try OpenSSLServerHandler(context.tls), HandshakeDeadline(),
        FeedbackHandler(delegate: FeedbackConnection(context, logger: logger), logger: logger),
      ]
      try channel.pipeline.syncOperations.addHandlers(handlers)
    }
    return [gateway, feedback]
  }

  private static func listen(
    _ host: String, _ port: Int, _ setting: String, _ portFile: String?,
    _ context: BinaryDoorContext,
    _ group: MultiThreadedEventLoopGroup,
    _ addHandlers: @escaping @Sendable (any Channel, Logger) throws -> Void
  ) throws -> any Channel {
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelOption(.socketOption(.so_keepalive), value: 1)
      // One read for each batch that is queued.
      .childChannelOption(.maxMessagesPerRead, value: 1)
      .childChannelOption(.recvAllocator, value: ReadingRoom())
      // A client that half-closes may still wait for the error packet.
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try context.connections.enter(channel)
          context.handshakes.begin(channel)
          var logger = context.logger
          logger[metadataKey: "client"] = "\(channel.remoteAddress?.text ?? "")"
          try addHandlers(channel, logger)
        }
      }
    do {
      let channel = try bootstrap.bind(host: host, port: port).wait()
      if let portFile {
        try "\(channel.localAddress?.port ?? port)\n".write(
          toFile: portFile, atomically: true, encoding: .utf8)
      }
      return channel
    } catch let error as IOError {
      throw QueueFault(description: "\(ListenFailure(error, host, port, setting: setting))")
    }
  }

  package var figures: DoorFigures.Shown {
    var shown = context.figures.shown
    shown.handshakes = context.handshakes.count
    return shown
  }

  /// Does nothing: the files are read only when the listener opens.
  package func refresh() throws {}

  /// Sends each client status 10 with the identifier of its last queued notification.
  package func shut() {
    for listener in listeners { listener.close(promise: nil) }
    for channel in context.connections.open {
      channel.eventLoop.execute {
        channel.pipeline.fireUserInboundEventTriggered(DoorConnection.Leaving())
      }
    }
  }

  package func close() {
    shut()
    context.end()
    _ = context.batches.wait(timeout: .now() + .seconds(2))
    if !context.connections.haveClosed(within: Self.closing) {
      context.connections.closeAll()
      _ = context.connections.haveClosed(within: Self.closing)
    }
    try? group.syncShutdownGracefully()
  }
}
