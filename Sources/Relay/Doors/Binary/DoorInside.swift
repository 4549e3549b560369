import BinaryServer
import Dispatch
import Logging
import NIOCore
import Synchronization

/// What the connections of a binary door have of it.
final class DoorInside: Sendable {
  let relay: DoorRelay
  let clients: DoorClients
  let tls: OpenSSLServerContext
  let figures = DoorFigures()
  let logger: Logger
  /// Batches that are on their way into the queue.
  let batches = DispatchGroup()
  let connections = DispatchGroup()

  private let most: Int
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])
  private let over = Atomic(false)
  private let lastFault = Mutex<(text: String, at: Int64)>(("", 0))

  init(
    _ relay: DoorRelay, _ clients: DoorClients, _ tls: OpenSSLServerContext, connections: Int,
    _ logger: Logger
  ) {
    self.relay = relay
    self.clients = clients
    self.tls = tls
    most = connections
    self.logger = logger
  }

  var open: [any Channel] { channels.withLock { Array($0.values) } }

  /// Throws if there are so many already.
  func enter(_ channel: any Channel) throws {
    guard figures.enter(most: most) else {
      logger.warning("a client is turned away: there are \(most) connections already")
      throw QueueFault(description: "too many connections")
    }
    connections.enter()
    let key = ObjectIdentifier(channel)
    channels.withLock { $0[key] = channel }
    channel.closeFuture.whenComplete { _ in
      _ = self.channels.withLock { $0.removeValue(forKey: key) }
      self.figures.leave()
      self.connections.leave()
    }
  }

  /// Nothing goes into the queue any more.
  var isOver: Bool { over.load(ordering: .relaxed) }
  func end() { over.store(true, ordering: .relaxed) }

  /// Says once a minute, for all connections, that the queue fails.
  func say(_ fault: any Error) {
    let text = "\(fault)"
    let now = RelayClock.steady
    let isNew = lastFault.withLock { last in
      guard last.text != text || now - last.at > 60_000 else { return false }
      last = (text, now)
      return true
    }
    if isNew { logger.warning("what clients bring cannot be queued yet: \(text)") }
  }
}
