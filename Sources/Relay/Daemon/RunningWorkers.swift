import Logging
import Synchronization

/// The workers of a relay, one for each app. Other threads see those of the current configuration.
final class RunningWorkers: @unchecked Sendable {
  private struct Running {
    var worker: AppWorker
    /// The current configuration. Its credentials may be newer than the worker's first ones.
    var app: AppConfiguration
    /// The state of their files, to detect changes.
    var files: [[Int64]]
  }

  private let queue: any QueueEngine
  private let log: Logger
  private let badTokens: BadTokens
  private let reclaimPace = ReclaimPace()
  private let resting: RestingWorkers
  /// Called with the recorded updates of an app, on its worker's thread.
  private let recorded: @Sendable (_ app: String, [EntryUpdate]) -> Void
  /// With the worker of each app, in the order of the apps.
  private let shared = Mutex<(apps: ServedApps, workers: [AppWorker])>((ServedApps([]), []))
  private var workers: [Running] = []
  /// Workers of apps that were removed or changed, which are ending.
  private var leaving: [AppWorker] = []

  init(
    _ queue: any QueueEngine, log: Logger, _ badTokens: BadTokens,
    recorded: @escaping @Sendable (_ app: String, [EntryUpdate]) -> Void
  ) {
    (self.queue, self.log, self.badTokens, self.recorded) = (queue, log, badTokens, recorded)
    resting = RestingWorkers(queue, log: log, reclaimPace)
  }

  // MARK: Calls from all threads

  var shown: Console.Apps {
    shared.withLock { $0.workers }.map { (app: $0.app.name, figures: $0.shownFigures) }
  }

  var apps: ServedApps { shared.withLock { $0.apps } }

  func look(_ app: String) {
    shared.withLock { now in now.apps.index(of: app).map { now.workers[$0] } }?.look()
  }

  // MARK: Calls from the daemon's thread

  var count: Int { workers.count }

  func make(_ configuration: RelayConfiguration) throws {
    for app in configuration.apps { workers.append(try make(app, configuration.queue)) }
    publish()
  }

  func start() {
    for one in workers { one.worker.start() }
  }

  private func make(_ app: AppConfiguration, _ settings: RelayConfiguration.Queue) throws -> Running
  {
    let files = app.credentials.files.map(FileMark.of)
    let log = log.of(app)
    do {
      let credentials = try RelayCredentials(app, queue: queue, log: log)
      credentials.prepare()
      let worker = try AppWorker(
        app, settings, queue: queue, credentials: credentials, log: log, badTokens: badTokens,
        reclaimPace: reclaimPace, resting: resting,
        recorded: { [recorded] in recorded(app.name, $0) })
      return Running(worker: worker, app: app, files: files)
    } catch {
      throw RelayFault("apps.\(app.name): \(error)")
    }
  }

  private func publish() {
    let (apps, all) = (ServedApps(workers.map(\.app)), workers.map(\.worker))
    shared.withLock { $0 = (apps, all) }
  }

  /// Unchanged apps keep their connections. If only the credentials changed, the app keeps its
  /// session.
  func reload(_ wanted: RelayConfiguration, sameQueue: Bool) {
    var before = Dictionary(uniqueKeysWithValues: workers.map { ($0.worker.app.name, $0) })
    workers = []
    for app in wanted.apps {
      let old = before.removeValue(forKey: app.name)
      do {
        if let old, sameQueue, let kept = try renewed(old, app) {
          workers.append(kept)
          continue
        }
        let new = try make(app, wanted.queue)
        new.worker.start()
        workers.append(new)
        if let old { leave(old.worker, wanted) }
      } catch {
        log.error("apps.\(app.name) keeps its previous configuration: \(error)")
        if let old { workers.append(old) }
      }
    }
    for old in before.values { leave(old.worker, wanted) }
    publish()
  }

  /// With new credentials, if only these changed; nil after another change.
  private func renewed(_ old: Running, _ app: AppConfiguration) throws -> Running? {
    var same = app
    (same.credentials, same.webhook) = (old.worker.app.credentials, old.worker.app.webhook)
    guard same == old.worker.app else { return nil }
    let files = app.credentials.files.map(FileMark.of)
    let new = Running(worker: old.worker, app: app, files: files)
    guard files != old.files || app.credentials != old.app.credentials else { return new }
    let credentials = try RelayCredentials(app, queue: queue, log: log.of(app))
    credentials.prepare()
    old.worker.use(credentials)
    return new
  }

  func look() {
    for one in workers { one.worker.look() }
  }

  private func leave(_ worker: AppWorker, _ configuration: RelayConfiguration) {
    worker.drain(withinMS: configuration.drainMS)
    leaving.removeAll { $0.hasEnded }
    leaving.append(worker)
  }

  /// Returns the number of outcomes that were not recorded.
  func end(withinMS milliseconds: Int64) -> Int {
    let all = workers.map(\.worker)
    for worker in all { worker.drain(withinMS: milliseconds) }
    for worker in all + leaving { worker.wait() }
    return (all + leaving).reduce(0) { $0 + $1.lostOutcomes }
  }
}

extension Logger {
  /// A logger that names the app in each line.
  func of(_ app: AppConfiguration) -> Logger {
    var log = self
    log[metadataKey: "app"] = "\(app.name)"
    return log
  }
}
