import Foundation
import Logging
import Synchronization

/// Removes old outcomes and bad tokens, and keeps free space, on a separate thread, because the
/// queue may be slow.
final class Housekeeping: Sendable {
  private static let trimMS: Int64 = 3_600_000
  private static let roomS: UInt32 = 5

  private let queue: any QueueEngine
  private let log: Logger
  private let configuration = Mutex(RelayConfiguration())

  init(_ queue: any QueueEngine, log: Logger) {
    self.queue = queue
    self.log = log
  }

  func use(_ configuration: RelayConfiguration) {
    self.configuration.withLock { $0 = configuration }
  }

  /// Runs until the process ends.
  func start() {
    let thread = Thread { [self] in
      var nextTrim = RelayClock.monotonic
      while true {
        queue.keepRoom()
        if RelayClock.monotonic >= nextTrim {
          nextTrim = RelayClock.monotonic + Self.trimMS
          trim()
        }
        sleep(Self.roomS)
      }
    }
    thread.name = "housekeeping"
    thread.stackSize = 1 << 19
    thread.start()
  }

  private func trim() {
    let wanted = configuration.withLock { $0 }
    let rememberS = wanted.apps.map(\.guarding.rememberS).max() ?? 0
    let outcomeRetentionS = wanted.queue.outcomeRetentionS
    do {
      _ = try queue.forgetBadTokens(before: RelayClock.now - Int64(rememberS * 1000))
    } catch {
      log.warning("old bad tokens cannot be removed: \(error)")
    }
    guard outcomeRetentionS > 0 else { return }
    do {
      let count = try queue.trim(before: RelayClock.now - Int64(outcomeRetentionS * 1000))
      if count > 0 { log.info("\(count) old outcomes removed") }
    } catch {
      log.warning("old outcomes cannot be removed: \(error)")
    }
    for app in wanted.apps {
      do {
        try OrderStore(queue, app: app.name).forgetCancelled(
          before: RelayClock.now - Int64(outcomeRetentionS * 1000))
      } catch {
        log.warning("old orders cannot be removed: \(error)")
      }
    }
  }
}
