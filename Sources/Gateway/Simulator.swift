import Glibc
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// A gateway and a feedback service, as Apple's were seen to behave.
package struct SimulatorConfiguration: Sendable {
  package var host = "127.0.0.1"
  /// 0 takes a free one.
  package var gatewayPort = 2195
  package var feedbackPort = 2196
  /// nil has no HTTP/2.
  package var http2Port: Int?
  /// Beside the one of the certificates' directory.
  package var providerKeys: [ProviderKey] = []
  package var certificates: CertificateDirectory
  /// TLS 1.3 sends session tickets after the handshake; clients of old take these
  /// bytes for an error, wait for the rest of them, or answer them with RST.
  package var tlsMax = TLSBound.tls1_2
  package var tlsMin = TLSBound.tls1_2
  /// Right behind the handshake, over the binary ports.
  package var sendsTickets = false
  package var rules = Rules()
  package var feedback: [FeedbackEntry] = []
  /// Where accepted notifications are recorded.
  package var record: RecordFile?
  /// Where the fate of every notification is.
  package var ledger: RecordFile?
  package var faults = FaultRules()
  /// Of all that is left to chance.
  package var seed: UInt64 = 0
  /// The control interface's, which listens on loopback only; 0 takes a free one, nil has none.
  package var controlPort: Int?
  /// How many accepted notifications the control interface can tell of.
  package var controlKeeps = 100_000
  /// Where those who look on find the newest notifications; nil where nobody does.
  package var sightings: Sightings?

  package init(certificates: CertificateDirectory) { self.certificates = certificates }
}

/// Why a service could not be opened.
package struct ListenError: Error, CustomStringConvertible {
  package enum Service: String, Sendable { case gateway, feedback, http2, control, dashboard }

  package var service: Service
  package var host: String
  package var port: Int
  package var message: String
  /// It is the port that cannot be had, not the host.
  package var isPort: Bool

  package init(_ error: any Error, _ service: Service, _ host: String, _ port: Int) {
    self.service = service
    self.host = host
    self.port = port
    switch error {
    case let error as IOError:
      message = Errno(error.errnoCode).description
      isPort = error.errnoCode == EADDRINUSE || error.errnoCode == EACCES
    case is SocketAddressError.UnknownHost:
      message = "unknown host"
      isPort = false
    default:
      message = "\(error)"
      isPort = false
    }
  }

  package var description: String { "cannot listen on \(host) port \(port): \(message)" }
}

/// Runs from `start` to `stop`.
package final class Simulator: Sendable {
  package let gatewayPort: Int
  package let feedbackPort: Int
  /// nil where there is no HTTP/2.
  package let http2Port: Int?
  /// nil where there is no control interface.
  package var controlPort: Int? { controlGate?.port }
  package let ledger: Ledger
  package let feedback: FeedbackList
  package let faults: FaultDesk
  /// What the control interface does, for who speaks to it otherwise.
  package let service: ControlService
  /// Asks for the end of the run, which is not the simulator's to make.
  package let shutdownRequests: AsyncStream<Void>

  private let gates: [Gate]
  private let controlGate: Gate?
  private let group: MultiThreadedEventLoopGroup
  private let records: BinaryHandler.Records
  private let channels: [OpenChannels]

  private init(
    gates: [Gate], controlGate: Gate?, service: ControlService,
    shutdownRequests: AsyncStream<Void>, group: MultiThreadedEventLoopGroup,
    records: BinaryHandler.Records
  ) {
    gatewayPort = gates[0].port
    feedbackPort = gates[1].port
    http2Port = gates.count > 2 ? gates[2].port : nil
    self.controlGate = controlGate
    ledger = service.ledger
    feedback = service.feedback
    faults = service.faults
    self.service = service
    self.shutdownRequests = shutdownRequests
    self.gates = gates
    self.group = group
    self.records = records
    channels = [service.gatewayChannels, service.feedbackChannels]
  }

  /// Listens when it comes back. Certificates are made where there are none.
  package static func start(
    _ configuration: SimulatorConfiguration, logger: Logger
  ) async throws -> Simulator {
    try configuration.certificates.prepare()
    let desk = try FaultDesk(
      configuration.faults, seed: configuration.seed, certificates: configuration.certificates,
      bounds: (configuration.tlsMin, configuration.tlsMax),
      speaksHTTP2: configuration.http2Port != nil, sendsTickets: configuration.sendsTickets)
    let isWatched = configuration.controlPort != nil
    let ledger = Ledger(
      watchesDuplicates: isWatched || configuration.ledger != nil
        || configuration.sightings != nil,
      keeps: isWatched ? configuration.controlKeeps : 0, sightings: configuration.sightings)
    let feedback = FeedbackList(configuration.feedback)
    let gone = GoneDevices(configuration.feedback)
    let records = BinaryHandler.Records(
      accepted: configuration.record, ledger: configuration.ledger)
    let gatewayChannels = OpenChannels()
    let feedbackChannels = OpenChannels()
    let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
    do {
      let gateway = try await listen(
        .gateway, on: configuration.gatewayPort, configuration.host, group, logger
      ) { channel in
        let number = ledger.open(from: channel.remoteAddress?.text ?? "")
        var logger = logger
        logger[metadataKey: "connection"] = "\(number)"
        let faults = ConnectionFaults(desk: desk, number: number)
        gatewayChannels.add(channel, number)
        let handler = BinaryHandler(
          connection: number, rules: configuration.rules, faults: faults, ledger: ledger,
          records: records, logger: logger)
        try furnish(channel, faults, logger, handler)
      }
      let feedbackNumbers = NIOLockedValueBox(0)
      let feedbackGate = try await listen(
        .feedback, on: configuration.feedbackPort, configuration.host, group, logger
      ) { channel in
        let number = feedbackNumbers.withLockedValue { number in
          number += 1
          return number
        }
        var logger = logger
        logger[metadataKey: "feedback"] = "\(number)"
        let faults = ConnectionFaults(desk: desk, number: number)
        feedbackChannels.add(channel, number)
        let handler = FeedbackHandler(
          list: feedback, faults: faults, ledger: ledger, logger: logger)
        try furnish(channel, faults, logger, handler)
      }
      var gates = [gateway, feedbackGate]
      if let port = configuration.http2Port {
        var keys = configuration.providerKeys
        try configuration.certificates.prepareTokenKey()
        keys.append(try configuration.certificates.tokenKey)
        let services = PushServices(
          rules: PushRules(rules: configuration.rules), ledger: ledger, records: records,
          feedback: feedback, gone: gone, tokens: ProviderTokens(keys))
        gates.append(
          try await listen(.http2, on: port, configuration.host, group, logger) { channel in
            let peer = channel.remoteAddress?.text ?? ""
            let number = ledger.open(from: peer, isHTTP2: true)
            var logger = logger
            logger[metadataKey: "connection"] = "\(number)"
            let faults = ConnectionFaults(desk: desk, number: number, service: .http2)
            gatewayChannels.add(channel, number)
            let handler = PushHandler(
              connection: number, services: services, faults: faults, logger: logger)
            try furnish(channel, faults, logger, handler)
          })
      }
      let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
      let service = ControlService(
        ledger: ledger, feedback: feedback, gone: gone, faults: desk, gates: gates,
        gatewayChannels: gatewayChannels, feedbackChannels: feedbackChannels,
        requestShutdown: { continuation.yield() })
      var controlGate: Gate?
      if let port = configuration.controlPort {
        controlGate = try await control(service, on: port, group, logger)
      }
      if let time = desk.rules.refuseTime {
        for gate in gates { await gate.refuse(for: time) }
      }
      return Simulator(
        gates: gates, controlGate: controlGate, service: service, shutdownRequests: requests,
        group: group, records: records)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Cuts all connections; what they had brought is recorded when it comes back.
  package func stop() async -> Totals {
    // Before the loops go: whoever closes then, TLS with its farewell above all, has none to work on.
    // The control interface goes first, for it may open gates again.
    await controlGate?.close()
    await visitLoops()
    await service.controlChannels.cut()
    await service.answersUnderWay.end()
    for gate in gates { await gate.close() }
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

  /// Comes back when whoever was let in before is on its loop.
  private func visitLoops() async {
    for loop in group.makeIterator() { try? await loop.submit {}.get() }
  }

  /// What stands between the socket and who speaks the protocol.
  private static func furnish(
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
    if let tickets = faults.tickets {
      try pipeline.addHandler(TicketTLSHandler(tickets))
    } else {
      try pipeline.addHandler(NIOSSLServerHandler(context: faults.tls))
    }
    try pipeline.addHandler(HandshakeDeadline(delay: faults.handshakeDelay ?? .zero))
    try pipeline.addHandler(RecordSplitter(faults: faults))
    try pipeline.addHandler(StreamFaults(faults: faults, logger: logger))
    try pipeline.addHandler(handler)
  }

  private static func listen(
    _ service: ListenError.Service, on port: Int, _ host: String,
    _ group: MultiThreadedEventLoopGroup, _ logger: Logger,
    _ furnish: @escaping @Sendable (any Channel) throws -> Void
  ) async throws -> Gate {
    do {
      return try await Gate(port: port, logger: logger) { port in
        ServerBootstrap(group: group)
          .serverChannelOption(.backlog, value: 1024)
          .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
          .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
          // Who has said all there is to say may still wait for the answer.
          .childChannelOption(.allowRemoteHalfClosure, value: true)
          .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture { try furnish(channel) }
          }
          .bind(host: host, port: port)
      }
    } catch {
      throw ListenError(error, service, host, port)
    }
  }

  private static func control(
    _ service: ControlService, on port: Int, _ group: MultiThreadedEventLoopGroup, _ logger: Logger
  ) async throws -> Gate {
    let host = "127.0.0.1"
    let numbers = NIOLockedValueBox(0)
    do {
      return try await Gate(port: port, logger: logger) { port in
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
              try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
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
