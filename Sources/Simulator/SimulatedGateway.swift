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
  package var gatewayPort: Int? { listeners[.gateway]?.port }
  package var feedbackPort: Int? { listeners[.feedback]?.port }
  package let http2Port: Int
  /// nil without channel management.
  package var channelsPort: Int? { listeners[.channels]?.port }
  /// nil without the control API.
  package var controlPort: Int? { controlListener?.port }
  package let ledger: Ledger
  package let feedback: FeedbackList
  package let faults: FaultsInForce
  /// The control API without HTTP.
  package let service: ControlService
  /// Requests to end the run from the control API. The caller decides.
  package let shutdownRequests: AsyncStream<Void>

  private let listeners: [ListenError.Service: Listener]
  private let controlListener: Listener?
  private let group: MultiThreadedEventLoopGroup
  private let records: RecordFiles
  private let channels: [OpenChannels]

  private init(
    listeners: [ListenError.Service: Listener], controlListener: Listener?, service: ControlService,
    shutdownRequests: AsyncStream<Void>, group: MultiThreadedEventLoopGroup,
    records: RecordFiles
  ) {
    http2Port = listeners[.http2]?.port ?? 0
    self.controlListener = controlListener
    ledger = service.ledger
    feedback = service.feedback
    faults = service.faults
    self.service = service
    self.shutdownRequests = shutdownRequests
    self.listeners = listeners
    self.group = group
    self.records = records
    channels = [service.gatewayChannels, service.feedbackChannels]
  }

  /// Listens once it returns. Makes missing certificates.
  package static func start(
    _ configuration: Configuration, logger: Logger
  ) async throws -> SimulatedGateway {
    try configuration.certificates.prepare()
    let faultsInForce = try FaultsInForce(
      configuration.faults, seed: configuration.seed, certificates: configuration.certificates,
      bounds: (configuration.tlsMin, configuration.tlsMax),
      sendsTickets: configuration.sendsTickets)
    let isWatched = configuration.controlPort != nil
    let ledger = Ledger(
      watchesDuplicates: isWatched || configuration.ledger != nil
        || configuration.recentPushes != nil,
      keeps: isWatched ? configuration.controlKeeps : 0, recentPushes: configuration.recentPushes)
    let feedback = FeedbackList(configuration.feedback)
    let unregistered = UnregisteredDevices(configuration.feedback)
    let broadcasts = Broadcasts(
      seed: configuration.seed, channelsMax: configuration.channelsMax,
      disabled: configuration.appsWithoutBroadcasts, subscriptions: configuration.subscriptions)
    let records = RecordFiles(
      accepted: configuration.record, ledger: configuration.ledger)
    let gatewayChannels = OpenChannels()
    let feedbackChannels = OpenChannels()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
    do {
      var listeners: [ListenError.Service: Listener] = [:]
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
      var keys = configuration.providerKeys
      try configuration.certificates.prepareTokenKey()
      keys.append(try configuration.certificates.tokenKey)
      let services = HTTP2Services(
        rules: PushRules(rules: configuration.rules), ledger: ledger, records: records,
        feedback: feedback, unregistered: unregistered, tokens: ProviderTokens(keys),
        broadcasts: broadcasts, isSandbox: configuration.isSandbox)
      var ports = [(ListenError.Service.http2, configuration.http2Port)]
      if let port = configuration.channelsPort { ports.append((.channels, port)) }
      for (name, port) in ports {
        let service: ConnectionFaults.Service = name == .channels ? .channels : .http2
        var services = services
        services.managesChannels = name == .channels
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
      let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
      let service = ControlService(
        ledger: ledger, feedback: feedback, unregistered: unregistered, broadcasts: broadcasts,
        faults: faultsInForce, listeners: Array(listeners.values),
        gatewayChannels: gatewayChannels, feedbackChannels: feedbackChannels,
        requestShutdown: { continuation.yield() })
      var controlListener: Listener?
      if let port = configuration.controlPort {
        controlListener = try await control(service, on: port, group, logger)
      }
      if let time = faultsInForce.rules.refuseTime {
        for listener in listeners.values { await listener.refuse(for: time) }
      }
      return SimulatedGateway(
        listeners: listeners, controlListener: controlListener, service: service,
        shutdownRequests: requests,
        group: group, records: records)
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
    await visitLoops()
    await service.controlChannels.cut()
    await service.pendingResponses.end()
    for listener in listeners.values { await listener.close() }
    await visitLoops()
    for channels in channels { await channels.cut() }
    try? await group.shutdownGracefully()
    records.accepted?.flush()
    let totals = ledger.totals
    if let ledger = records.ledger {
      ledger.append(Array("{\"summary\":\(totals.json.dropLast())}\n".utf8))
      ledger.flush()
    }
    return totals
  }

  /// Returns once all accepted connections are on their event loops.
  private func visitLoops() async {
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
