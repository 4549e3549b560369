import BinaryServer
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The ports of a simulator with everything behind them: faults, devices, counters, pushes, channels and
/// connections. A simulator is one world, and its control API makes more, which share event loops,
/// certificates and keys.
final class World: Sendable {
  let listeners: [ListenError.Service: Listener]
  /// The control API without HTTP.
  let service: ControlService
  private let group: MultiThreadedEventLoopGroup

  private init(
    listeners: [ListenError.Service: Listener], service: ControlService,
    group: MultiThreadedEventLoopGroup
  ) {
    self.listeners = listeners
    self.service = service
    self.group = group
  }

  /// Listens once it returns. Only the simulator's own world has `worlds`.
  static func start(
    _ configuration: SimulatedGateway.Configuration, _ sparedTLS: FaultsInForce.Contexts,
    worlds: Worlds? = nil, requestShutdown: @escaping @Sendable () -> Void = {},
    _ group: MultiThreadedEventLoopGroup, _ logger: Logger
  ) async throws -> World {
    let faultsInForce = try FaultsInForce(
      configuration.faults, seed: configuration.seed, certificates: configuration.certificates,
      bounds: (configuration.tlsMin, configuration.tlsMax),
      sendsTickets: configuration.sendsTickets, sparedTLS: sparedTLS)
    let isWatched = configuration.controlPort != nil
    let ledger = Ledger(
      watchesDuplicates: isWatched || configuration.ledger != nil
        || configuration.recentPushes != nil,
      keeps: isWatched ? configuration.controlKeeps : 0, recentPushes: configuration.recentPushes)
    let feedback = FeedbackList(configuration.feedback)
    let unregistered = RejectedDevices(configuration.feedback)
    let rejections = RejectedDevices()
    let broadcasts = Broadcasts(
      seed: configuration.seed, channelsMax: configuration.channelsMax,
      disabled: configuration.appsWithoutBroadcasts, subscriptions: configuration.subscriptions)
    let records = configuration.records
    let gatewayChannels = OpenChannels()
    let feedbackChannels = OpenChannels()
    var listeners: [ListenError.Service: Listener] = [:]
    do {
      if let port = configuration.gatewayPort {
        listeners[.gateway] = try await listen(
          .gateway, on: port, configuration.host, group, logger
        ) { channel in
          let number = ledger.open(from: channel.remoteAddress?.text ?? "")
          var logger = logger
          logger[metadataKey: "connection"] = "\(number)"
          let faults = ConnectionFaults(faultsInForce: faultsInForce, number: number)
          gatewayChannels.add(channel, number)
          let connection = SimulatedConnection(
            number: number, rules: configuration.rules, faults: faults, ledger: ledger,
            records: records, logger: logger)
          let handler = BinaryHandler(
            rules: configuration.rules.frames, delegate: connection, logger: logger)
          try addHandlers(channel, faults, logger, handler)
        }
      }
      if let port = configuration.feedbackPort {
        let feedbackNumbers = NIOLockedValueBox(0)
        listeners[.feedback] = try await listen(
          .feedback, on: port, configuration.host, group, logger
        ) { channel in
          let number = feedbackNumbers.withLockedValue { number in
            number += 1
            return number
          }
          var logger = logger
          logger[metadataKey: "feedback"] = "\(number)"
          let faults = ConnectionFaults(faultsInForce: faultsInForce, number: number)
          feedbackChannels.add(channel, number)
          let connection = SimulatedFeedback(
            list: feedback, faults: faults, ledger: ledger, logger: logger)
          let handler = FeedbackHandler(delegate: connection, logger: logger)
          try addHandlers(channel, faults, logger, handler)
        }
      }
      let services = HTTP2Services(
        rules: PushRules(rules: configuration.rules), ledger: ledger, records: records,
        feedback: feedback, unregistered: unregistered, rejections: rejections,
        tokens: ProviderTokens(
          configuration.providerKeys, isSandbox: configuration.isSandbox), broadcasts: broadcasts,
        replay: configuration.replay, isSandbox: configuration.isSandbox)
      var ports = [(ListenError.Service.http2, configuration.http2Port)]
      if let port = configuration.channelsPort { ports.append((.channels, port)) }
      for (name, port) in ports {
        let service: ConnectionFaults.Service = name == .channels ? .channels : .http2
        var services = services
        services.managesChannels = name == .channels
        if services.managesChannels { services.replay = nil }
        let theirs = services
        listeners[name] = try await listen(name, on: port, configuration.host, group, logger) {
          channel in
          let peer = channel.remoteAddress?.text ?? ""
          let number = ledger.open(from: peer, service: service)
          var logger = logger
          logger[metadataKey: "connection"] = "\(number)"
          let faults = ConnectionFaults(
            faultsInForce: faultsInForce, number: number, service: service)
          gatewayChannels.add(channel, number)
          let handler = PushHandler(
            connection: number, services: theirs, faults: faults, logger: logger)
          try addHandlers(channel, faults, logger, handler)
        }
      }
    } catch {
      for listener in listeners.values { await listener.close() }
      throw error
    }
    if let replay = configuration.replay, let listener = listeners[.http2] {
      replay.refuses { await listener.refuse(for: $0) }
    }
    if let time = faultsInForce.rules.refuseTime {
      for listener in listeners.values { await listener.refuse(for: time) }
    }
    let service = ControlService(
      ledger: ledger, feedback: feedback, unregistered: unregistered, rejections: rejections,
      broadcasts: broadcasts, faults: faultsInForce, listeners: Array(listeners.values),
      gatewayChannels: gatewayChannels, feedbackChannels: feedbackChannels,
      requestShutdown: requestShutdown, worlds: worlds)
    return World(listeners: listeners, service: service, group: group)
  }

  func port(_ service: ListenError.Service) -> Int? { listeners[service]?.port }

  /// Cuts all connections. Everything they sent is recorded when it returns.
  func stop() async {
    for listener in listeners.values { await listener.close() }
    await Self.visit(group)
    await service.gatewayChannels.cut()
    await service.feedbackChannels.cut()
  }

  /// Returns once all accepted connections are on their event loops.
  static func visit(_ group: MultiThreadedEventLoopGroup) async {
    for loop in group.makeIterator() { try? await loop.submit {}.get() }
  }

  /// Adds all handlers from the socket to the protocol.
  private static func addHandlers(
    _ channel: any Channel, _ faults: ConnectionFaults, _ logger: Logger,
    _ handler: some ChannelInboundHandler
  ) throws {
    if faults.faults.readRate != nil || faults.stallAfter != nil {
      try channel.syncOptions?.setOption(
        .socketOption(.so_rcvbuf), value: StreamFaults.receiveBuffer)
    }
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(SegmentShaper(faults: faults))
    if let fault = HandshakeFault(faults, logger: logger) { try pipeline.addHandler(fault) }
    try pipeline.addHandler(OpenSSLServerHandler(faults.tls))
    try pipeline.addHandler(HandshakeDeadline(extra: faults.handshakeDelay ?? .zero))
    try pipeline.addHandler(RecordSplitter(faults: faults))
    try pipeline.addHandler(StreamFaults(faults: faults, logger: logger))
    try pipeline.addHandler(handler)
  }

  private static func listen(
    _ service: ListenError.Service, on port: Int, _ host: String,
    _ group: MultiThreadedEventLoopGroup, _ logger: Logger,
    _ addHandlers: @escaping @Sendable (any Channel) throws -> Void
  ) async throws -> Listener {
    do {
      return try await Listener(port: port, logger: logger) { port in
        ServerBootstrap(group: group)
          .serverChannelOption(.backlog, value: 1024)
          .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
          .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
          // A client that half-closes may still wait for the response.
          .childChannelOption(.allowRemoteHalfClosure, value: true)
          .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try addHandlers(channel) }
          }
          .bind(host: host, port: port)
      }
    } catch {
      throw ListenError(error, service, host, port)
    }
  }
}
