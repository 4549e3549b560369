import Foundation
import Logging
import Synchronization

/// Works for one app: claims entries, pushes them, and records their outcomes, on a separate thread. An entry
/// is acknowledged only after its outcomes are recorded. A worker without entries may rest: then it has no
/// thread and no session.
package final class AppWorker: @unchecked Sendable {
  private enum Phase {
    case resting
    /// Its thread makes the loop.
    case waking
    case working(WorkerLoop)
  }

  private struct State {
    var phase = Phase.waking
    var credentials: RelayCredentials
    /// Before it tries to start again; 0 after a success.
    var pauseMS: Int64 = 0
  }

  /// The first and the longest pause before a worker that could not start tries again.
  private static let pausesMS: ClosedRange<Int64> = 1000...30_000

  package let app: AppConfiguration
  package let settings: RelayConfiguration.Queue
  private let queue: any QueueEngine
  private let log: Logger
  private let badTokens: BadTokens?
  private let control: WorkerControl
  /// Used by the worker's thread, or while it rests by the thread of `resting`.
  let lease: WorkerLease
  private let agreement: Agreement
  private let makeLoop: (RelayCredentials) throws -> WorkerLoop
  /// nil if it never rests.
  private let resting: RestingWorkers?
  private let state: Mutex<State>
  /// nil if the engine reports no changes.
  private var watch: QueueNews.Watch?

  /// `recorded` is called with the recorded updates, on the worker's thread. `badTokens` is nil if no
  /// listener uses them.
  init(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue, queue: any QueueEngine,
    credentials: RelayCredentials, log: Logger, badTokens: BadTokens? = nil,
    reclaimPace: ReclaimPace = ReclaimPace(), resting: RestingWorkers? = nil,
    recorded: @escaping @Sendable ([EntryUpdate]) -> Void = { _ in }
  ) throws {
    (self.app, self.settings, self.queue, self.log) = (app, settings, queue, log)
    (self.badTokens, self.resting) = (badTokens, resting)
    let (control, agreement) = (WorkerControl(), Agreement(app, named: WorkerLease.name))
    let lease = try WorkerLease(queue, app: app.name, ms: Int64(settings.leaseS * 1000))
    (self.control, self.agreement, self.lease) = (control, agreement, lease)
    makeLoop = { credentials in
      try WorkerLoop(
        app, settings, queue: queue, credentials: credentials, log: log, badTokens, reclaimPace,
        control, lease, agreement, recorded: recorded)
    }
    state = Mutex(State(credentials: credentials))
    watch = queue.watch(.entries, of: app.name) { [weak self] in self?.look() }
    // Also if it rests at once, so that wrong settings are found and its metrics are shown.
    let loop = try newLoop(credentials)
    let rests = try mayRest && !hasWork
    if rests { loop.show(RelayClock.monotonic) }
    state.withLock { $0.phase = rests ? .resting : .working(loop) }
  }

  package func start() {
    if let loop = loop { begin { loop } } else { resting?.add(self) }
  }

  private var loop: WorkerLoop? {
    state.withLock { if case .working(let loop) = $0.phase { loop } else { nil } }
  }

  private func newLoop(_ credentials: RelayCredentials) throws -> WorkerLoop {
    let loop = try makeLoop(credentials)
    loop.times.hasWatch = watch != nil
    if let resting, mayRest { loop.mayRest(resting) { [unowned self] in rests() } }
    return loop
  }

  func use(_ credentials: RelayCredentials) {
    state.withLock { state in
      state.credentials = credentials
      guard case .working(let loop) = state.phase else { return }
      control.request { $0.credentials = credentials }
      loop.session.wake()
    }
  }

  /// Claims new entries, and follows new orders.
  func look() {
    state.withLock { state in
      switch state.phase {
      case .resting: resting?.tell(self)
      case .waking: _ = control.addNews()
      case .working(let loop): if control.addNews() { loop.session.wake() }
      }
    }
  }

  /// Claims no more entries, waits up to this long for responses, and ends.
  package func drain(withinMS milliseconds: Int64) {
    let time = RelayClock.monotonic + milliseconds
    control.request { $0.drainUntil = min($0.drainUntil ?? .max, time) }
    state.withLock { state in
      switch state.phase {
      case .resting: resting?.tell(self)
      case .waking: break
      case .working(let loop): loop.session.wake()
      }
    }
  }

  package func wait() { control.wait() }
  /// The number of outcomes that were not recorded before it ended.
  package var lostOutcomes: Int { control.shown.withLock { $0.lostOutcomes } }
  package var hasEnded: Bool { control.shown.withLock { $0.hasEnded } }

  package var shownFigures: WorkerFigures {
    var figures = control.shown.withLock { $0.figures }
    if isResting { figures.heard = RelayClock.monotonic }
    return figures
  }

  var isResting: Bool {
    state.withLock { if case .resting = $0.phase { true } else { false } }
  }

  // MARK: The worker's thread

  private func begin(_ loop: @escaping @Sendable () throws -> WorkerLoop) {
    Thread.begin("app \(app.name)", stackBytes: 1 << 20) { [self] in
      do { try run(loop()) } catch { stayAtRest(error) }
    }
  }

  private func run(_ loop: WorkerLoop) {
    loop.run()
    if isResting { resting?.add(self) } else { end() }
  }

  private func end() {
    watch = nil
    control.end()
  }

  /// Whether the loop ends because the worker rests from now on. False if there are new requests.
  private func rests() -> Bool {
    guard (try? hasWork) == false else { return false }
    return state.withLock { state in
      guard !control.hasMore(than: nil) else { return false }
      state.phase = .resting
      return true
    }
  }

  private var mayRest: Bool { resting != nil && watch != nil }

  /// Whether it needs a loop.
  private var hasWork: Bool {
    get throws {
      if try badTokens?.isUsed == true || queue.hasEntries(app: app.name) { return true }
      // A worker ends orders to cancel single entries. It also reports orders that it cannot read.
      return (try? OrderStore(queue, app: app.name).read().cancelledIDs.isEmpty) != true
    }
  }

  // MARK: The thread of `resting`

  /// Looks at what has changed. Returns whether it still rests.
  func lookAtRest() throws -> Bool {
    if control.isDraining {
      do {
        try agreement.leave(queue, lease.workerID)
        try lease.leave(queue)
      } catch {
        log.error("the queue: \(error)")
      }
      end()
      return false
    }
    try agree()
    guard try hasWork else {
      control.shown.withLock { $0.figures.problem = nil }
      return true
    }
    state.withLock { $0.phase = .waking }
    begin { [self] in
      let credentials = state.withLock { $0.credentials }
      let loop = try newLoop(credentials)
      state.withLock { state in
        (state.phase, state.pauseMS) = (.working(loop), 0)
        if state.credentials !== credentials {
          control.request { [new = state.credentials] in $0.credentials = new }
        }
      }
      return loop
    }
    return false
  }

  /// Its lease has expired. A worker without entries loses nothing by that.
  func joinAgain() throws {
    try lease.join(queue, at: RelayClock.now)
    try agree()
  }

  private func agree() throws {
    try agreement.look(queue, lease.workerID, log)
    control.shown.withLock { $0.figures.use(agreement) }
  }

  private func stayAtRest(_ error: any Error) {
    control.shown.withLock { $0.figures.problem = "\(error)" }
    if resting?.isNews(error) == true { log.error("its worker cannot start: \(error)") }
    resting?.makeRoom()
    let pauseMS = state.withLock { state in
      state.phase = .resting
      state.pauseMS = min(
        max(2 * state.pauseMS, Self.pausesMS.lowerBound), Self.pausesMS.upperBound)
      return state.pauseMS
    }
    resting?.add(self, afterMS: pauseMS)
  }
}
