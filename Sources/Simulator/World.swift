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
  let service: ControlService
  private let replay: Replay?
  private let group: MultiThreadedEventLoopGroup

  private init(
    listeners: [ListenError.Service: Listener], service: ControlService, replay: Replay?,
    group: MultiThreadedEventLoopGroup
  ) {
    self.listeners = listeners
    self.service = service
    self.replay = replay
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
    /// `number` numbers a connection by its peer's address, `handler` makes its protocol's handler.
    func serve(
      _ name: ListenError.Service, on port: Int, _ channels: OpenChannels,
      as service: ConnectionFaults.Service = .binary,
      number: @escaping @Sendable (String) -> Int,
      handler: @escaping @Sendable (Int, ConnectionFaults, Logger) -> any ChannelHandler
    ) async throws {
      listeners[name] = try await listen(name, on: port, configuration.host, group, logger) {
        channel in
        let number = number(channel.remoteAddress?.text ?? "")
        var logger = logger
        logger[metadataKey: name == .feedback ? "feedback" : "connection"] = "\(number)"
        let faults = ConnectionFaults(
          faultsInForce: faultsInForce, number: number, service: service)
        channels.add(channel, number)
        try addHandlers(channel, faults, logger, handler(number, faults, logger))
      }
    }
    do {
      if let port = configuration.gatewayPort {
        try await serve(.gateway, on: port, gatewayChannels, number: { ledger.open(from: $0) }) {
          let connection = SimulatedConnection(
            number: $0, rules: configuration.rules, faults: $1, ledger: ledger, records: records,
            logger: $2)
          return BinaryHandler(rules: configuration.rules.frames, delegate: connection, logger: $2)
        }
      }
      if let port = configuration.feedbackPort {
        let numbers = NIOLockedValueBox(0)
        try await serve(.feedback, on: port, feedbackChannels) { _ in
          numbers.withLockedValue { number in
            number += 1
            return number
          }
        } handler: {
          let connection = SimulatedFeedback(list: feedback, faults: $1, ledger: ledger, logger: $2)
          return FeedbackHandler(delegate: connection, logger: $2)
        }
      }
      let services = HTTP2Services(
        rules: PushRules(rules: configuration.rules), ledger: ledger, records: records,
        feedback: feedback, unregistered: unregistered, rejections: rejections,
        tokens: ProviderTokens(
          configuration.providerKeys, isSandbox: configuration.isSandbox), broadcasts: broadcasts,
        replay: configuration.replay, isSandbox: configuration.isSandbox)
      try await serve(
        .http2, on: configuration.http2Port, gatewayChannels, as: .http2,
        number: { ledger.open(from: $0, service: .http2) }
      ) { PushHandler(connection: $0, services: services, faults: $1, logger: $2) }
      if let port = configuration.channelsPort {
        var managing = services
        managing.managesChannels = true
        managing.replay = nil
        try await serve(
          .channels, on: port, gatewayChannels, as: .channels,
          number: { ledger.open(from: $0, service: .channels) }
        ) { [managing] in
          PushHandler(connection: $0, services: managing, faults: $1, logger: $2)
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
    return World(
      listeners: listeners, service: service, replay: configuration.replay, group: group)
  }

  func port(_ service: ListenError.Service) -> Int? { listeners[service]?.port }

  /// Cuts all connections. Everything they sent is recorded when it returns.
  func stop() async {
    for listener in listeners.values { await listener.close() }
    await Self.visit(group)
    await service.gatewayChannels.cut()
    await service.feedbackChannels.cut()
    replay?.stop()
  }

  /// Returns once all accepted connections are on their event loops.
  static func visit(_ group: MultiThreadedEventLoopGroup) async {
    for loop in group.makeIterator() { try? await loop.submit {}.get() }
  }

  private static func addHandlers(
    _ channel: any Channel, _ faults: ConnectionFaults, _ logger: Logger,
    _ handler: any ChannelHandler
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
