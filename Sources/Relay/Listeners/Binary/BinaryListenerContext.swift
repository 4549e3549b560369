import BinaryServer
import Dispatch
import Logging
import NIOCore
import Synchronization

/// The state that all connections of a binary listener share.
final class BinaryListenerContext: Sendable {
  let relay: ListenerRelay
  let clients: ListenerClients
  let tls: OpenSSLServerContext
  let figures = ListenerFigures()
  let feedback = FeedbackTurns()
  let logger: Logger
  /// Batches that are being queued.
  let batches = DispatchGroup()
  let connections: ListenerConnections
  /// The connection quotas of the gateway port and of the feedback port.
  let gateway: ClientQuotas
  let feedbackPort: ClientQuotas
  let handshakes: OpenHandshakes
  let configuration: BinaryListenerConfiguration
  /// Refused token sizes and silent pushes are logged at most once a minute.
  let sizeWarning = ThrottledWarning()
  let silentWarning = ThrottledWarning()

  /// Batches that wait for the queue and have lost their client. They stay in memory, so they have
  /// a limit, beyond which new clients are refused.
  private let abandonedBatches = Atomic(0)
  private static let mostAbandonedBatches = 500
  private let warning = ThrottledWarning()

  private let over = Atomic(false)

  init(
    _ relay: ListenerRelay, _ clients: ListenerClients, _ tls: OpenSSLServerContext,
    _ listener: BinaryListenerConfiguration, _ logger: Logger
  ) {
    self.relay = relay
    self.clients = clients
    self.tls = tls
    configuration = listener
    let limits = ConnectionLimits(listener, files: ListenerConnections.files)
    if limits.isCut {
      logger.warning(
        "this process may open \(OpenFiles.limit) files: at most \(limits.gateway) connections, and \(limits.feedback) to the feedback port"
      )
    }
    gateway = ClientQuotas(
      limits.gateway, mostOfApp: listener.appConnections,
      mostOfAddress: listener.addressConnections,
      logger)
    feedbackPort = ClientQuotas(limits.feedback, logger)
    handshakes = OpenHandshakes(limits.handshakes, figures, logger)
    connections = ListenerConnections(figures, most: limits.all, logger)
    self.logger = logger
  }

  /// Gives a known client its part of the quota until it is closed. False if the quota is used up.
  func admit(_ channel: any Channel, _ app: String, _ quotas: ClientQuotas) -> Bool {
    let client = ClientQuotas.Client(app: app, address: channel.remoteAddress?.host ?? "")
    if let limit = quotas.enter(client, of: clients.count(of: relay.apps().all.count)) {
      figures.refuseConnection(by: quotas === feedbackPort ? .feedback : limit)
      return false
    }
    handshakes.end(channel)
    channel.closeFuture.whenComplete { _ in quotas.leave(client) }
    return true
  }

  func sayRefusedSize(_ size: Int, _ logger: Logger) {
    guard sizeWarning.isDue("") else { return }
    logger.warning(
      "a token of \(size) bytes gets status 5: APNs has accepted none of that size yet. If devices have such tokens, set listeners.\(configuration.name).token_bytes"
    )
  }

  func countSilent(_ count: Int, _ logger: Logger) {
    figures.count { $0.silent += count }
    guard silentWarning.isDue("") else { return }
    logger.notice(
      "silent pushes (content-available alone) of priority 10 are sent as background pushes of priority 5, which APNs requires; \(figures.shown.silent) so far"
    )
  }

  /// True once the listener closes: a batch that fails is not retried.
  var isOver: Bool { over.load(ordering: .relaxed) }
  func end() { over.store(true, ordering: .relaxed) }

  func adopt() { abandonedBatches.add(1, ordering: .relaxed) }
  func release() { abandonedBatches.subtract(1, ordering: .relaxed) }

  /// Whether too many batches of lost clients wait for the queue.
  var isFull: Bool {
    guard abandonedBatches.load(ordering: .relaxed) >= Self.mostAbandonedBatches else {
      return false
    }
    let text =
      "clients are refused: the queue accepts nothing, and notifications of disconnected clients "
      + "wait for it"
    if warning.isDue(text) { logger.warning("\(text)") }
    return true
  }
}
