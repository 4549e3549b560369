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

  /// Batches of clients that are gone, and that the queue does not take. They are kept, so they have a
  /// limit: beyond it nobody is let in.
  private let orphans = Atomic(0)
  private static let mostOrphans = 500
  private let warning = ThrottledWarning()

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

  func adopt() { orphans.add(1, ordering: .relaxed) }
  func release() { orphans.subtract(1, ordering: .relaxed) }

  /// Whether so much waits for the queue already that nothing more may.
  var isFull: Bool {
    guard orphans.load(ordering: .relaxed) >= Self.mostOrphans else { return false }
    let text =
      "clients are turned away: the queue takes nothing, and notifications of clients that are gone "
      + "wait for it"
    if warning.isDue(text) { logger.warning("\(text)") }
    return true
  }
}
