import Dispatch
import Logging
import NIOCore
import Synchronization

/// The connections of a door that are open.
final class DoorConnections: Sendable {
  private let figures: DoorFigures
  private let most: Int
  private let logger: Logger
  private let warning = ThrottledWarning()
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])
  private let group = DispatchGroup()

  init(_ figures: DoorFigures, most: Int, _ logger: Logger) {
    self.figures = figures
    self.most = most
    self.logger = logger
  }

  var open: [any Channel] { channels.withLock { Array($0.values) } }

  /// Until it is closed. Throws if there are so many already.
  func enter(_ channel: any Channel) throws {
    guard figures.enter(most: most) else {
      let text = "clients are turned away: there are \(most) connections already"
      if warning.isDue(text) { logger.warning("\(text)") }
      throw QueueFault(description: "too many connections")
    }
    group.enter()
    let key = ObjectIdentifier(channel)
    channels.withLock { $0[key] = channel }
    channel.closeFuture.whenComplete { _ in
      _ = self.channels.withLock { $0.removeValue(forKey: key) }
      self.figures.leave()
      self.group.leave()
    }
  }

  /// False: some are open still.
  func haveClosed(within time: DispatchTimeInterval) -> Bool {
    group.wait(timeout: .now() + time) == .success
  }

  func closeAll() {
    for channel in open { channel.close(promise: nil) }
  }
}
