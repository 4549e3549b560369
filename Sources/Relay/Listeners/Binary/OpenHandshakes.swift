import BinaryServer
import Logging
import NIOCore
import Synchronization

/// Connections without a known client: their TLS handshake is pending, or it did not identify them.
/// If there are too many, the connection with the longest wait for its client is closed, and the
/// new one is accepted anyway. Clients that connect and stay silent therefore lock no other client
/// out.
final class OpenHandshakes: Sendable {
  private struct Entry {
    var channel: any Channel
    /// The bytes received at the last check.
    var received = 0
    /// The time of the last check (monotonic).
    var since = RelayClock.monotonic
  }

  private struct State {
    private var open: [ObjectIdentifier: Entry] = [:]
    /// Oldest first; may have closed ones.
    private var queue: [ObjectIdentifier] = []
    private var start = 0
    /// When a connection was last closed for this limit (monotonic); nil once that phase is over.
    var last: Int64?

    var count: Int { open.count }

    mutating func put(_ entry: Entry) {
      let key = ObjectIdentifier(entry.channel)
      skip()
      open[key] = entry
      queue.append(key)
    }

    /// False if it was not there.
    mutating func remove(_ channel: any Channel) -> Bool {
      open.removeValue(forKey: ObjectIdentifier(channel)) != nil
    }

    /// Takes the oldest connection if it has waited for at least `time`.
    mutating func takeOldest(forMS time: Int64) -> Entry? {
      skip()
      guard start < queue.count, let entry = open[queue[start]],
        RelayClock.monotonic - entry.since >= time
      else { return nil }
      start += 1
      return entry
    }

    func contains(_ channel: any Channel) -> Bool { open[ObjectIdentifier(channel)] != nil }

    /// Skips closed connections.
    private mutating func skip() {
      while start < queue.count, open[queue[start]] == nil { start += 1 }
      guard start > 256, start > queue.count / 2 else { return }
      queue.removeFirst(start)
      start = 0
    }
  }

  private let most: Int
  private let figures: ListenerFigures
  private let logger: Logger
  private let state = Mutex(State())

  private static let quietMS: Int64 = 60_000
  /// The time that a client gets in any case, unless there are more than twice `most`.
  private static let patienceMS: Int64 = 1000
  /// How many connections are checked in search of a silent one.
  private static let tries = 4

  init(_ most: Int, _ figures: ListenerFigures, _ logger: Logger) {
    self.most = most
    self.figures = figures
    self.logger = logger
  }

  var count: Int { state.withLock { $0.count } }

  /// Counts the channel until `end`, or until it is closed.
  func begin(_ channel: any Channel) {
    let (count, isOver) = state.withLock { state in
      state.put(Entry(channel: channel))
      let isOver = state.count <= most / 2 && state.last.map(Self.isLongAgo) == true
      if isOver { state.last = nil }
      return (state.count, isOver)
    }
    channel.closeFuture.whenComplete { _ in self.end(channel) }
    if isOver { logger.notice("TLS handshakes have their full time again") }
    if count > most { look(Self.tries, forMS: count > 2 * most ? 0 : Self.patienceMS) }
  }

  func end(_ channel: any Channel) {
    _ = state.withLock { $0.remove(channel) }
  }

  private static func isLongAgo(_ time: Int64) -> Bool { RelayClock.monotonic - time > quietMS }

  /// Closes the oldest connection that waits for its client, on its event loop.
  private func look(_ tries: Int, forMS time: Int64) {
    guard tries > 0, let entry = state.withLock({ $0.takeOldest(forMS: time) }) else { return }
    let channel = entry.channel
    channel.eventLoop.execute {
      let received = channel.pipeline.syncOperations.openSSL?.received ?? 0
      guard let options = channel as? any SocketOptionProvider else { return }
      ConnectionInfo.read(options).whenComplete { info in
        let isUnread = ((try? info.get())?.bytesReceived ?? 0) > received
        // A connection that has received data since the last check is spared once.
        guard isUnread || received > entry.received else { return self.close(channel) }
        self.state.withLock { state in
          guard state.contains(channel) else { return }
          state.put(Entry(channel: channel, received: received))
        }
        self.look(tries - 1, forMS: time)
      }
    }
  }

  private func close(_ channel: any Channel) {
    let isFirst = state.withLock { state -> Bool? in
      guard state.remove(channel) else { return nil }
      defer { state.last = RelayClock.monotonic }
      return state.last == nil
    }
    guard let isFirst else { return }
    figures.refuseConnection(by: .handshakes)
    if isFirst {
      logger.warning(
        "more than \(most) TLS handshakes are pending: those that have waited longest for their clients are closed"
      )
    }
    channel.close(mode: .all, promise: nil)
  }
}
