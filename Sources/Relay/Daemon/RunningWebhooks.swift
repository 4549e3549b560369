import Foundation
import Logging
import Synchronization

/// The webhooks of a relay, by app. Used by all threads.
final class RunningWebhooks: Sendable {
  /// How long the end waits for a request.
  private static let longestWait = DispatchTimeInterval.seconds(2)

  private let queue: any QueueEngine
  private let log: Logger
  private let running = Mutex<[String: Webhook]>([:])

  init(_ queue: any QueueEngine, log: Logger) {
    self.queue = queue
    self.log = log
  }

  /// Unchanged webhooks continue.
  func use(_ wanted: RelayConfiguration) {
    let old = running.withLock { $0 }
    var new: [String: Webhook] = [:]
    for app in wanted.apps {
      if let kept = old[app.name], kept.isFor(app, wanted.queue) {
        new[app.name] = kept
      } else {
        old[app.name]?.end()
        new[app.name] = Webhook(app, wanted.queue, queue: queue, log: log.of(app))
        new[app.name]?.start()
        for warning in app.webhook.warnings { log.warning("apps.\(app.name).webhook: \(warning)") }
      }
    }
    for (app, gone) in old where new[app] == nil { gone.end() }
    running.withLock { $0 = new }
  }

  /// The app has new outcomes.
  func look(_ app: String) { running.withLock { $0[app] }?.look() }

  var shown: Console.Webhooks { running.withLock { $0.mapValues(\.figures) } }

  func end() {
    let webhooks = running.withLock { Array($0.values) }
    for webhook in webhooks { webhook.end() }
    for webhook in webhooks { webhook.wait(upTo: Self.longestWait) }
  }
}
