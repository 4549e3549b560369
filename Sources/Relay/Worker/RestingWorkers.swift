import Foundation
import Logging
import Synchronization

/// The workers of a process that have nothing to do, often those of most apps. One thread renews their leases,
/// and wakes those whose app gets entries.
final class RestingWorkers: Sendable {
  private struct State {
    var all: [ObjectIdentifier: AppWorker] = [:]
    /// When to look at those whose app may have changed (monotonic).
    var looks: [ObjectIdentifier: Int64] = [:]
    var hasThread = false
  }

  /// A queue that fails is left alone for this long.
  private static let troubleMS: Int64 = 1000

  /// With too few file descriptors or too little memory for all workers, they rest after this time.
  private static let crowdedMS: Int64 = 1000
  /// They do so for this long after a worker could not start or connect.
  private static let crowdMS: Int64 = 60_000

  private let usualMS: Int64
  private let crowdedUntil = Atomic<Int64>(0)
  private let queue: any QueueEngine
  private let log: Logger
  private let reclaimPace: ReclaimPace
  private let state = Mutex(State())
  private let wake = Wake()
  private let warning = ThrottledWarning()
  private let failures = ThrottledWarning()

  init(
    _ queue: any QueueEngine, log: Logger, _ reclaimPace: ReclaimPace, afterMS: Int64 = 3_600_000
  ) {
    (self.queue, self.log, self.reclaimPace, usualMS) = (queue, log, reclaimPace, afterMS)
  }

  // MARK: Calls from all threads

  /// How long a worker has nothing to do before it rests. It is long, because Apple asks providers to
  /// keep connections open.
  var afterMS: Int64 {
    let isCrowded = RelayClock.monotonic < crowdedUntil.load(ordering: .relaxed)
    return isCrowded ? min(usualMS, Self.crowdedMS) : usualMS
  }

  /// Idle workers rest soon, because others could not start or connect.
  func makeRoom() {
    crowdedUntil.store(RelayClock.monotonic + Self.crowdMS, ordering: .relaxed)
  }

  /// Its app is looked at after this time, because it may have changed meanwhile.
  func add(_ worker: AppWorker, afterMS milliseconds: Int64 = 0) {
    let needsThread = state.withLock { state in
      state.all[ObjectIdentifier(worker)] = worker
      let time = RelayClock.monotonic + milliseconds
      state.looks[ObjectIdentifier(worker)] = min(
        time, state.looks[ObjectIdentifier(worker)] ?? time)
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if needsThread { Thread.begin("idle apps") { [self] in run() } } else { wake.signal() }
  }

  /// Its app may have changed, or it ends.
  func tell(_ worker: AppWorker) {
    state.withLock { $0.looks[ObjectIdentifier(worker)] = 0 }
    wake.signal()
  }

  /// Whether a failure of one of them is worth a line in the log.
  func isNews(_ failure: any Error) -> Bool { failures.isDue("\(failure)") }

  // MARK: The thread

  private func run() {
    var newsAt: Int64 = 0
    while true {
      let now = RelayClock.monotonic
      guard let (all, told) = take(now) else { return }
      if !told.isEmpty { newsAt = now }
      var isWell = true
      do {
        try renew(all, at: now)
        if warning.isOver() { log.notice("idle apps: the queue answers again") }
      } catch {
        isWell = false
        fail(error)
      }
      for worker in told { isWell = look(worker) && isWell }
      let nextMS = max(0, next(after: newsAt) - RelayClock.monotonic)
      wake.wait(upToMS: isWell ? nextMS : Self.troubleMS)
    }
  }

  /// nil, and the thread ends, if no worker rests.
  private func take(_ now: Int64) -> (all: [AppWorker], told: [AppWorker])? {
    state.withLock { state in
      state.hasThread = !state.all.isEmpty
      guard state.hasThread else { return nil }
      let told = state.looks.filter { $0.value <= now }.keys
      for one in told { state.looks[one] = nil }
      return (Array(state.all.values), told.compactMap { state.all[$0] })
    }
  }

  /// When there is something to do (monotonic), after news of this time.
  private func next(after news: Int64) -> Int64 {
    state.withLock { state in
      let renewals = state.all.values.map { $0.lease.next(after: news) }
      return min(renewals.min() ?? .max, state.looks.values.min() ?? .max)
    }
  }

  private func renew(_ all: [AppWorker], at now: Int64) throws {
    let due = all.filter { $0.lease.isDue(at: now) }
    guard !due.isEmpty else { return }
    let clock = RelayClock.now
    let lost = try queue.renew(due.map(\.lease.workerID), at: clock)
    for worker in due {
      if lost.contains(worker.lease.workerID) {
        try worker.joinAgain()
      } else {
        worker.lease.wasRenewed(at: clock)
      }
    }
    let silentSince = due.map { $0.lease.silentSince(now, clock) }.min()!
    let count = try reclaimPace.run { try queue.reclaim(silentSince: silentSince, at: clock) }
    if count > 0 {
      log.notice("\(count) entries reclaimed from workers that ended or fell silent")
    }
  }

  /// False if the queue failed.
  private func look(_ worker: AppWorker) -> Bool {
    state.withLock { $0.all[ObjectIdentifier(worker)] = nil }
    do {
      if try worker.lookAtRest() { state.withLock { $0.all[ObjectIdentifier(worker)] = worker } }
      return true
    } catch {
      fail(error)
      add(worker, afterMS: Self.troubleMS)
      return false
    }
  }

  private func fail(_ error: any Error) {
    if warning.isDue("\(error)") { log.warning("idle apps: the queue: \(error)") }
  }
}
