/// Records the outcomes of a worker's entries. An entry is acknowledged only afterwards.
final class OutcomeRecorder {
  private let queue: any QueueEngine
  private let lease: WorkerLease
  private let entries: HeldEntries
  private let times: ClaimTimes
  private let report: WorkerReport
  /// nil if no listener uses bad tokens.
  private let badTokens: BadTokens?
  var badTokenRecorder: BadTokenRecorder?
  /// Called with the recorded updates, on the worker's thread.
  private let recorded: @Sendable ([EntryUpdate]) -> Void

  init(
    _ queue: any QueueEngine, _ lease: WorkerLease, _ entries: HeldEntries, _ times: ClaimTimes,
    _ report: WorkerReport, _ badTokens: BadTokens?, _ badTokenRecorder: BadTokenRecorder?,
    recorded: @escaping @Sendable ([EntryUpdate]) -> Void
  ) {
    (self.queue, self.lease, self.entries, self.times) = (queue, lease, entries, times)
    (self.report, self.badTokens, self.recorded) = (report, badTokens, recorded)
    self.badTokenRecorder = badTokenRecorder
  }

  /// Writes what other relays must know of bad tokens, and reads theirs.
  func exchangeBadTokens(at clock: Int64, isLast: Bool = false) throws {
    if badTokenRecorder == nil, !isLast {
      badTokenRecorder = try BadTokenRecorder(entries.app, queue, badTokens, log: report.log)
    }
    try badTokenRecorder?.exchange(at: clock, isLast: isLast)
  }

  func recordIfDue(_ now: Int64, isLast: Bool) {
    guard isLast ? !entries.batch.isEmpty : entries.batch.isDue(at: now, inHand: entries.count)
    else { return }
    let updates = entries.batch.entries.map { EntryUpdate($0) }
    // Before recording, so that the listener knows the token once the outcome is visible in the
    // queue.
    if badTokenRecorder != nil { addBadTokens(of: updates) }
    do {
      try queue.record(updates, by: lease.workerID, at: RelayClock.now)
    } catch {
      // No outcome was recorded, so no entry is acknowledged, and no more are claimed until it
      // works.
      report.failed("outcomes cannot be recorded: \(error)")
      entries.batch.retryAt = now + 1000
      return
    }
    report.figures.records += 1
    if entries.batch.retryAt > 0 {
      report.clear()
      report.log.notice("outcomes are recorded again")
    }
    for update in updates { report.figures.count(update) }
    entries.forgetRecorded(updates)
    recorded(updates)
    // If the order is kept, blocked entries may be sent now.
    times.claim(by: entries.app.keepOrder == .device ? now : now + ClaimTimes.lookAgainMS)
  }

  private func addBadTokens(of updates: [EntryUpdate]) {
    for update in updates {
      update.forEachOutcome { outcome in
        guard outcome.pointee.badSince != nil else { return }
        badTokens?.add(outcome.pointee.token.text, app: entries.app.name, at: RelayClock.now)
      }
    }
  }
}
