import Glibc

/// A worker's registration in the queue, which it renews before others reclaim its entries. A class, because
/// several parts of the worker use its current ID.
final class WorkerLease {
  private(set) var workerID: WorkerID
  private let ms: Int64
  private var nextRenewal: Int64 = 0
  private var nextLook: Int64 = 0
  /// The last heartbeat, as stored in the queue.
  private var lastHeard = RelayClock.now
  private var wasAway = false
  /// Before this time (monotonic), reclaims only from workers whose process has exited, not from
  /// silent ones.
  private var reclaimsSilentFrom: Int64 = 0

  init(_ queue: any EntryQueue, app: String, ms: Int64) throws {
    self.ms = ms
    workerID = try queue.join(app: app, named: Self.name, at: RelayClock.now)
  }

  /// How often a worker looks after itself and others while it has work.
  private var intervalMS: Int64 { max(50, min(1000, ms / 4)) }
  /// How often an idle one does, unless there are news.
  private var idleMS: Int64 { max(50, min(10_000, ms / 3)) }

  /// When it is due next, after news of this time.
  func next(after news: Int64) -> Int64 {
    let last = nextRenewal - intervalMS
    return last < news ? nextRenewal : last + idleMS
  }

  /// The machine and the process.
  static var name: String { "\(SocketName.ofHost) \(getpid())" }

  /// Whether enough time has passed for others to reclaim its entries. Uses the wall clock, because
  /// the monotonic clock stops while the machine sleeps.
  func wasAway(since time: Int64) -> Bool { RelayClock.now - time > ms / 2 }

  /// It was not renewed in time.
  var isLate: Bool { wasAway(since: lastHeard) }

  func isDue(at now: Int64) -> Bool {
    wasAway = isLate
    guard now >= nextRenewal || wasAway else { return false }
    nextRenewal = now + intervalMS
    // A worker that was itself suspended or cut off from the queue cannot tell which others are
    // silent. Give them a full lease to renew.
    if wasAway { reclaimsSilentFrom = now + ms }
    return true
  }

  /// False if the lease expired: the worker must join again.
  func renew(
    _ queue: any EntryQueue, at now: Int64, _ clock: Int64
  ) throws -> Bool {
    // An emptied queue (FLUSHALL) no longer has this worker.
    guard try now >= nextLook || wasAway || !queue.knows(workerID) else { return true }
    nextLook = now + max(50, ms / 4)
    guard try queue.renew(workerID, at: clock) else { return false }
    lastHeard = clock
    return true
  }

  /// Others have renewed it.
  func wasRenewed(at clock: Int64) { lastHeard = clock }

  func join(_ queue: any EntryQueue, at clock: Int64) throws {
    workerID = try queue.join(app: workerID.app, named: Self.name, at: clock)
    lastHeard = clock
  }

  func leave(_ queue: any EntryQueue) throws {
    try queue.leave(
      workerID, line: "worker \(workerID.number) stopped before the response", at: RelayClock.now)
  }

  /// The heartbeat from which on other workers are not silent.
  func silentSince(_ now: Int64, _ clock: Int64) -> Int64 {
    now < reclaimsSilentFrom ? 0 : clock - ms
  }
}
