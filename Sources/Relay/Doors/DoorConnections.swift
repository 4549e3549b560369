import BinaryServer
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

  /// Those of all doors.
  private static let total = Atomic(0)
  /// Files that connections leave to the rest of the relay: to those to the service, the queue, logs.
  private static let leftFiles = 256

  init(_ figures: DoorFigures, most: Int, _ logger: Logger) {
    self.figures = figures
    self.most = most
    self.logger = logger
  }

  var open: [any Channel] { channels.withLock { Array($0.values) } }

  /// How many files connections may take.
  static var files: Int {
    let files = OpenFiles.limit
    return files - min(leftFiles, files / 4)
  }

  /// Until it is closed. Throws if there are so many already.
  func enter(_ channel: any Channel) throws {
    guard figures.enter(most: most) else {
      throw turnedAway("there are \(most) connections already")
    }
    let total = Self.total.add(1, ordering: .relaxed).newValue
    guard total <= Self.files else {
      Self.total.subtract(1, ordering: .relaxed)
      figures.turnAway()
      throw turnedAway(
        "there are \(total - 1) connections already, and this process may open \(OpenFiles.limit) files"
      )
    }
    group.enter()
    let key = ObjectIdentifier(channel)
    channels.withLock { $0[key] = channel }
    channel.closeFuture.whenComplete { _ in
      _ = self.channels.withLock { $0.removeValue(forKey: key) }
      self.figures.leave()
      Self.total.subtract(1, ordering: .relaxed)
      self.group.leave()
    }
  }

  private func turnedAway(_ why: String) -> QueueFault {
    let text = "clients are turned away: \(why)"
    // How many there are is another number each time.
    if warning.isDue(why.filter { !$0.isNumber }) { logger.warning("\(text)") }
    return QueueFault(description: text)
  }

  /// False: some are open still.
  func haveClosed(within time: DispatchTimeInterval) -> Bool {
    group.wait(timeout: .now() + time) == .success
  }

  func closeAll() {
    for channel in open { channel.close(promise: nil) }
  }
}
