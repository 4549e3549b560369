import Foundation
import Logging

/// Works for one app on a separate thread: claims entries, pushes them, and records their outcomes.
/// An entry is acknowledged only after its outcomes are recorded.
package final class AppWorker: @unchecked Sendable {
  package let app: AppConfiguration
  package let settings: RelayConfiguration.Queue
  private let queue: any QueueEngine
  private let control = WorkerControl()
  /// Used only by the worker's thread, but for waking its session.
  private let loop: WorkerLoop
  /// nil if the engine reports no changes.
  private var watch: QueueNews.Watch?

  /// `recorded` is called with the recorded updates, on the worker's thread. `badTokens` is nil if no
  /// listener uses them.
  init(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue, queue: any QueueEngine,
    credentials: RelayCredentials, log: Logger, badTokens: BadTokens? = nil,
    reclaimPace: ReclaimPace = ReclaimPace(),
    recorded: @escaping @Sendable ([EntryUpdate]) -> Void = { _ in }
  ) throws {
    (self.app, self.settings, self.queue) = (app, settings, queue)
    loop = try WorkerLoop(
      app, settings, queue: queue, credentials: credentials, log: log, badTokens, reclaimPace,
      control, recorded: recorded)
  }

  package func start() {
    watch = queue.watch(.entries, of: app.name) { [weak self] in self?.look() }
    loop.times.hasWatch = watch != nil
    Thread.begin("app \(app.name)", stackBytes: 1 << 20) { [self] in
      loop.run()
      watch = nil
      control.end()
    }
  }

  func use(_ credentials: RelayCredentials) {
    control.request { $0.credentials = credentials }
    loop.session.wake()
  }

  /// Claims new entries, and follows new orders.
  func look() {
    if control.addNews() { loop.session.wake() }
  }

  /// Claims no more entries, waits up to this long for responses, and ends.
  package func drain(withinMS milliseconds: Int64) {
    let time = RelayClock.monotonic + milliseconds
    control.request { $0.drainUntil = min($0.drainUntil ?? .max, time) }
    loop.session.wake()
  }

  package func wait() { control.wait() }
  /// The number of outcomes that were not recorded before it ended.
  package var lostOutcomes: Int { control.shown.withLock { $0.lostOutcomes } }
  package var hasEnded: Bool { control.shown.withLock { $0.hasEnded } }
  package var shownFigures: WorkerFigures { control.shown.withLock { $0.figures } }
}
