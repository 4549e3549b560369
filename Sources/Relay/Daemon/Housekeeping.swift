import Foundation
import Logging
import Synchronization

/// Removes old outcomes, dead letters, gone devices and bad tokens, and keeps free space, on a
/// separate thread, because the queue may be slow.
final class Housekeeping: Sendable {
  private static let trimMS: Int64 = 3_600_000
  private static let roomS: UInt32 = 5

  private let queue: any QueueEngine
  private let log: Logger
  private let configuration = Mutex(RelayConfiguration())
  /// What webhooks had in the queue at the last trim, of apps without one.
  private let leftWebhooks = Mutex<[String: String]>([:])

  init(_ queue: any QueueEngine, log: Logger) {
    self.queue = queue
    self.log = log
  }

  func use(_ configuration: RelayConfiguration) {
    self.configuration.withLock { $0 = configuration }
  }

  /// Runs until the process ends.
  func start() {
    Thread.begin("housekeeping") { [self] in
      var nextTrim = RelayClock.monotonic
      while true {
        queue.keepRoom()
        if RelayClock.monotonic >= nextTrim {
          nextTrim = RelayClock.monotonic + Self.trimMS
          trim()
        }
        sleep(queue.keepsRoom ? Self.roomS : UInt32(Self.trimMS / 1000))
      }
    }
  }

  private func trim() {
    let wanted = configuration.withLock { $0 }
    let rememberS = wanted.apps.map(\.guarding.rememberS).max() ?? 0
    do {
      _ = try queue.forgetBadTokens(before: RelayClock.now - Int64(rememberS * 1000))
    } catch {
      log.warning("old bad tokens cannot be removed: \(error)")
    }
    // Dead letters first, because they keep their outcomes.
    remove("dead letters", after: wanted.queue.deadRetentionS, queue.trimDeadLetters)
    remove("outcomes", after: wanted.queue.outcomeRetentionS, queue.trim)
    remove("gone devices", after: wanted.queue.goneRetentionS) {
      try queue.trimGone(before: $0, at: RelayClock.now)
    }
    forgetWebhooks(of: wanted.apps.filter { $0.webhook.url == nil })
    for app in wanted.apps {
      remove("orders of \(app.name)", after: wanted.queue.outcomeRetentionS) {
        try OrderStore(queue, app: app.name).forgetOld(before: $0)
      }
    }
  }

  /// Otherwise the reader of a removed webhook would keep all outcomes.
  private func forgetWebhooks(of apps: [AppConfiguration]) {
    let left = leftWebhooks.withLock { $0 }
    var still: [String: String] = [:]
    for app in apps {
      do {
        still[app.name] = try WebhookPlace.forget(queue, app: app.name, unchanged: left[app.name])
        if left[app.name] != nil, still[app.name] == nil {
          log.notice("the reader of the removed webhook of \(app.name) has ended")
        }
      } catch {
        still[app.name] = left[app.name]
        log.warning("the reader of the removed webhook of \(app.name) cannot be ended: \(error)")
      }
    }
    leftWebhooks.withLock { $0 = still }
  }

  /// Nothing is removed after 0 s.
  private func remove(_ what: String, after retentionS: Double, _ trim: (Int64) throws -> Int) {
    guard retentionS > 0 else { return }
    do {
      let count = try trim(RelayClock.now - Int64(retentionS * 1000))
      if count > 0 { log.info("\(count) old \(what) removed") }
    } catch {
      log.warning("old \(what) cannot be removed: \(error)")
    }
  }
}
