import Glibc
import Logging
import NIOCore
import NIOPosix
import NIOSSL

/// A gateway and a feedback service, as Apple's were seen to behave.
package struct SimulatorConfiguration: Sendable {
  package var host = "127.0.0.1"
  /// 0 takes a free one.
  package var gatewayPort = 2195
  package var feedbackPort = 2196
  package var certificates: CertificateDirectory
  /// TLS 1.3 sends session tickets after the handshake; clients of old take these
  /// bytes for an error, wait for the rest of them, or answer them with RST.
  package var tlsMax = TLSBound.tls1_2
  package var tlsMin = TLSBound.tls1_2
  package var rules = Rules()
  package var feedback: [FeedbackEntry] = []
  /// Where accepted notifications are recorded.
  package var record: RecordFile?

  package init(certificates: CertificateDirectory) { self.certificates = certificates }
}

/// Why a service could not be opened.
package struct ListenError: Error, CustomStringConvertible {
  package enum Service: String, Sendable { case gateway, feedback }

  package var service: Service
  package var host: String
  package var port: Int
  package var message: String
  /// It is the port that cannot be had, not the host.
  package var isPort: Bool

  fileprivate init(_ error: any Error, _ service: Service, _ host: String, _ port: Int) {
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
  package let ledger: Ledger
  package let feedback: FeedbackList

  private let group: MultiThreadedEventLoopGroup
  private let record: RecordFile?

  private init(
    gatewayPort: Int, feedbackPort: Int, ledger: Ledger, feedback: FeedbackList,
    group: MultiThreadedEventLoopGroup, record: RecordFile?
  ) {
    self.gatewayPort = gatewayPort
    self.feedbackPort = feedbackPort
    self.ledger = ledger
    self.feedback = feedback
    self.group = group
    self.record = record
  }

  /// Listens when it comes back. Certificates are made where there are none.
  package static func start(
    _ configuration: SimulatorConfiguration, logger: Logger
  ) async throws -> Simulator {
    try configuration.certificates.prepare()
    let tls = try GatewayTLS.context(
      configuration.certificates, min: configuration.tlsMin, max: configuration.tlsMax)
    let ledger = Ledger()
    let feedback = FeedbackList(configuration.feedback)
    let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
    do {
      let gatewayPort = try await listen(
        .gateway, on: configuration.gatewayPort, configuration.host, tls, group
      ) { channel in
        let number = ledger.open()
        var logger = logger
        logger[metadataKey: "connection"] = "\(number)"
        return BinaryHandler(
          connection: number, rules: configuration.rules, ledger: ledger,
          record: configuration.record, logger: logger)
      }
      let feedbackPort = try await listen(
        .feedback, on: configuration.feedbackPort, configuration.host, tls, group
      ) { channel in
        var logger = logger
        logger[metadataKey: "feedback"] = "\(channel.remoteAddress?.port ?? 0)"
        return FeedbackHandler(list: feedback, ledger: ledger, logger: logger)
      }
      return Simulator(
        gatewayPort: gatewayPort, feedbackPort: feedbackPort, ledger: ledger, feedback: feedback,
        group: group, record: configuration.record)
    } catch {
      try? await group.shutdownGracefully()
      throw error
    }
  }

  /// Cuts all connections; what they had brought is recorded when it comes back.
  package func stop() async -> Totals {
    try? await group.shutdownGracefully()
    record?.flush()
    return ledger.totals
  }

  private static func listen(
    _ service: ListenError.Service, on port: Int, _ host: String, _ tls: NIOSSLContext,
    _ group: MultiThreadedEventLoopGroup,
    _ handler: @escaping @Sendable (any Channel) -> any ChannelInboundHandler
  ) async throws -> Int {
    let bootstrap = ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(NIOSSLServerHandler(context: tls))
          try pipeline.addHandler(HandshakeDeadline())
          try pipeline.addHandler(handler(channel))
        }
      }
    do {
      let channel = try await bootstrap.bind(host: host, port: port).get()
      return channel.localAddress?.port ?? port
    } catch {
      throw ListenError(error, service, host, port)
    }
  }
}
