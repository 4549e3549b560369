import BinaryServer
import Dispatch
import Foundation
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Accepts connections of the binary interface, which Apple switched off in 2021, from legacy
/// providers, and serves feedback about gone devices.
package final class BinaryListener: RelayListener {
  package let name: String
  package let place: String
  private let context: BinaryListenerContext
  private let group: MultiThreadedEventLoopGroup
  /// The gateway's, and those of the feedback service.
  private let bound: [[any Channel]]

  private static let threads = max(2, min(4, System.coreCount))
  /// A client has 2 s to close its side, and its reading may take a moment.
  private static let closing = DispatchTimeInterval.seconds(4)

  /// Listens once it returns.
  package init(_ listener: BinaryListenerConfiguration, _ relay: ListenerRelay) throws {
    name = listener.name
    var logger = relay.log
    logger[metadataKey: "listener"] = "\(listener.name)"
    let group = MultiThreadedEventLoopGroup(numberOfThreads: Self.threads)
    do {
      let tls = try ListenerTLS(listener)
      for line in tls.news { logger.notice("\(line)") }
      for line in tls.warnings { logger.warning("\(line)") }
      context = BinaryListenerContext(
        relay, try ListenerClients(listener), tls.context, listener, logger)
      bound = try Self.listen(context, group)
    } catch {
      try? group.syncShutdownGracefully()
      throw RelayFault("listeners.\(listener.name): \(error)")
    }
    self.group = group
    place = bound.map { $0.map { $0.localAddress?.text ?? "" }.joined(separator: ", ") }
      .joined(separator: ", feedback at ")
  }

  private static func listen(
    _ context: BinaryListenerContext, _ group: MultiThreadedEventLoopGroup
  ) throws -> [[any Channel]] {
    let listener = context.configuration
    var limits = FrameRules(legacyPayloadMax: listener.payloadMax)
    limits.framedPayloadMax = listener.payloadMax
    let rules = limits
    let gateway = try listen(
      listener.port, "listeners.\(listener.name).port", listener.portFile, context, group
    ) { channel, logger in
      let connection = ListenerConnection(context, logger: logger)
      let handlers: [any ChannelHandler] = [
        try OpenSSLServerHandler(context.tls), HandshakeDeadline(), connection,
        BinaryHandler(rules: rules, delegate: connection, logger: logger),
      ]
      try channel.pipeline.syncOperations.addHandlers(handlers)
    }
    guard let port = listener.feedbackPort else { return [gateway] }
    let feedback = try listen(
      port, "listeners.\(listener.name).feedback_port", listener.feedbackPortFile, context, group
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
    _ port: ListeningPort, _ setting: String, _ portFile: String?,
    _ context: BinaryListenerContext, _ group: MultiThreadedEventLoopGroup,
    _ addHandlers: @escaping @Sendable (any Channel, Logger) throws -> Void
  ) throws -> [any Channel] {
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
    let bound: [any Channel]
    switch port {
    case .systemd(let name):
      bound = try context.relay.sockets.named(name).map { try bootstrap.listen(on: $0) }
    case .number(let port):
      let host = context.configuration.host
      do {
        bound = [try bootstrap.bind(host: host, port: port).wait()]
      } catch let error as IOError {
        throw RelayFault("\(ListenFailure(error, host, port, setting: setting))")
      }
    }
    if let portFile {
      try "\(bound.first?.localAddress?.port ?? 0)\n".write(
        toFile: portFile, atomically: true, encoding: .utf8)
    }
    return bound
  }

  package var figures: ListenerFigures.Shown {
    var shown = context.figures.shown
    shown.handshakes = context.handshakes.count
    return shown
  }

  /// Does nothing: the files are read only when the listener opens.
  package func refresh() throws {}

  /// Sends each client status 10 with the identifier of its last queued notification.
  package func shut() {
    for one in bound.joined() { one.close(promise: nil) }
    for channel in context.connections.open {
      channel.eventLoop.execute {
        channel.pipeline.fireUserInboundEventTriggered(ListenerConnection.Leaving())
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
