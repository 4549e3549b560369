import BinaryServer
import Dispatch
import Logging
import Synchronization

/// What all connections of a binary door share.
final class BinaryDoorContext: Sendable {
  let relay: DoorRelay
  let clients: DoorClients
  let tls: OpenSSLServerContext
  let figures = DoorFigures()
  let logger: Logger
  /// Batches that are on their way into the queue.
  let batches = DispatchGroup()
  let connections: DoorConnections

  private let over = Atomic(false)

  init(
    _ relay: DoorRelay, _ clients: DoorClients, _ tls: OpenSSLServerContext, connections: Int,
    _ logger: Logger
  ) {
    self.relay = relay
    self.clients = clients
    self.tls = tls
    self.connections = DoorConnections(figures, most: connections, logger)
    self.logger = logger
  }

  /// Nothing goes into the queue any more.
  var isOver: Bool { over.load(ordering: .relaxed) }
  func end() { over.store(true, ordering: .relaxed) }
}
