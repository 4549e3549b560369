import BinaryServer
import Dispatch
import Logging
import NIOCore
import Synchronization

/// The open connections of a listener.
final class ListenerConnections: Sendable {
  private let figures: ListenerFigures
  private let most: Int
  private let logger: Logger
  private let warning = ThrottledWarning()
  private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])
  private let group = DispatchGroup()

  /// The connections of all listeners.
  private static let total = Atomic(0)
  /// The files left to the rest of the relay: connections to APNs, the queue, logs.
  private static let leftFiles = 256

  init(_ figures: ListenerFigures, most: Int, _ logger: Logger) {
    self.figures = figures
    self.most = most
    self.logger = logger
  }

  var open: [any Channel] { channels.withLock { Array($0.values) } }

  /// The number of files that connections may use.
  static var files: Int {
    let files = OpenFiles.limit
    return files - min(leftFiles, files / 4)
  }

  /// Counts the channel until it is closed. Throws if a limit is reached.
  func enter(_ channel: any Channel) throws {
    guard figures.enter(most: most) else {
      throw refusal("there are \(most) connections already")
    }
    let total = Self.total.add(1, ordering: .relaxed).newValue
    guard total <= Self.files else {
      Self.total.subtract(1, ordering: .relaxed)
      figures.refuseConnection()
      throw refusal(
        "there are \(total - 1) connections already, and this process may open \(OpenFiles.limit) files"
      )
    }
    group.enter()
    let key = ObjectIdentifier(channel)
    channels.withLock { $0[key] = channel }
    channel.closeFuture.whenComplete { _ in
      _ = self.channels.withLock { $0.removeValue(forKey: key) }
      self.figures.count { $0.connections -= 1 }
      Self.total.subtract(1, ordering: .relaxed)
      self.group.leave()
    }
  }

  private func refusal(_ why: String) -> RelayFault {
    let text = "clients are refused: \(why)"
    // The number differs each time, so it is ignored in the comparison.
    if warning.isDue(why.filter { !$0.isNumber }) { logger.warning("\(text)") }
    return RelayFault(text)
  }

  /// False if some are still open.
  func haveClosed(within time: DispatchTimeInterval) -> Bool {
    group.wait(timeout: .now() + time) == .success
  }

  func closeAll() {
    for channel in open { channel.close(promise: nil) }
  }
}
