/// A worker's place among the workers of its queue: its lease, the agreement with other relays about the
/// app, and its quota of the app's connections.
final class WorkerMembership {
  private let queue: any QueueEngine
  private let lease: WorkerLease
  private let session: ServiceSession
  private let entries: HeldEntries
  private let recorder: OutcomeRecorder
  private let times: ClaimTimes
  private let report: WorkerReport
  private let control: WorkerControl
  private let reclaimPace: ReclaimPace
  private let agreement: Agreement
  /// nil without a limit.
  private var quota: ConnectionQuota?
  /// The lease cannot be renewed, and others may have the entries soon.
  private var isCutOff = false

  init(
    _ queue: any QueueEngine, _ lease: WorkerLease, _ agreement: Agreement,
    _ quota: ConnectionQuota?, _ session: ServiceSession, _ entries: HeldEntries,
    _ recorder: OutcomeRecorder, _ times: ClaimTimes, _ report: WorkerReport,
    _ control: WorkerControl, _ reclaimPace: ReclaimPace
  ) {
    (self.queue, self.lease, self.agreement, self.quota) = (queue, lease, agreement, quota)
    (self.session, self.entries, self.recorder) = (session, entries, recorder)
    (self.times, self.report, self.control) = (times, report, control)
    self.reclaimPace = reclaimPace
  }

  var isInOrder: Bool { !isCutOff && !agreement.isBroken }
  /// The queue has a row of the worker's connections, by which others get fewer.
  var hasQuota: Bool { quota != nil }
  var mayClaim: Bool { isInOrder && quota?.isEmpty != true }

  /// When it has something to do next (monotonic), after news of this time.
  func next(after news: Int64) -> Int64 {
    min(lease.next(after: news), quota?.nextRenewal ?? .max)
  }

  /// Renews the lease, and looks at the other workers.
  func renewIfDue(_ now: Int64, isIdle: () -> Bool) {
    guard lease.isDue(at: now) else { return }
    let clock = RelayClock.now
    do {
      if try !lease.renew(queue, at: now, clock) {
        report.log.warning("lease expired: other workers have reclaimed this worker's entries")
        cutOff()
        times.loseLease(at: now)
        try lease.join(queue, at: clock)
      }
      isCutOff = false
      try recorder.exchangeBadTokens(at: clock)
      // If it is idle and others have changed nothing, not even a heartbeat needs a look at them.
      if !isIdle() || times.hasNews, !control.isDraining {
        try agreement.look(queue, lease.workerID, report.log)
        report.use(agreement)
      }
      let count = try reclaimPace.run {
        try queue.reclaim(silentSince: lease.silentSince(now, clock), at: clock)
      }
      if count > 0 {
        report.figures.reclaimed += count
        report.log.notice("\(count) entries reclaimed from workers that ended or fell silent")
      }
      times.lookedAt = now
      // Without news too, because a changed clock makes none.
      if isIdle() { times.claim(by: now) }
      report.clear(.staying)
    } catch {
      report.failed(error, .staying)
      if lease.isLate, !isCutOff { cutOff() }
    }
  }

  /// Other workers send what was not written yet.
  private func cutOff() {
    entries.giveBackUnsent()
    session.cancelAll()
    isCutOff = true
  }

  func keepQuota(_ now: Int64, isNeeded: Bool) {
    guard quota != nil else { return }
    do {
      try quota?.keep(queue, lease.workerID, isNeeded: isNeeded, session, at: now, report.log)
    } catch {
      // Don't clear the problem after a success: most calls make no query, so success proves
      // little.
      report.failed(error, .staying)
    }
    report.figures.connectionQuota = quota?.count
  }

  func leave() throws {
    try agreement.leave(queue, lease.workerID)
    try recorder.exchangeBadTokens(at: RelayClock.now, isLast: true)
    try lease.leave(queue)
  }
}
