/// A worker's counters, for metrics.
package struct WorkerFigures: Sendable {
  package var outcomes: [PushOutcome.Kind: Int] = [:]
  package var reasons: [String: Int] = [:]
  /// From when entries were added or due to APNs' responses.
  var durations = ByLane(DurationCounts())
  /// Entries deferred because APNs requested that.
  package var deferred = 0
  /// Entries redelivered because they were in doubt.
  package var redelivered = 0
  package var claimed = 0
  package var records = 0
  package var inHand = 0
  /// Entries reclaimed from workers that exited or fell silent.
  package var reclaimed = 0
  /// The session's metrics in Prometheus' text format.
  package var session = ""
  /// Its open connections.
  package var connections = 0
  /// The reason why pushes or records fail now; nil if they succeed.
  package var problem: String?
  /// The settings that differ from those of another relay on the queue; nil if they agree.
  package var disagreement: String?
  /// Whether this relay is the one on the queue that counts the app's entries, see `Agreement`.
  package var isFirst = false
  /// The problem remains until the operator acts.
  package var isStopped = false
  package var certificateEnd: Int64?
  /// The reason why bad tokens are ignored now; nil without an alarm.
  package var guardAlarm: String?
  /// Bad tokens that were ignored.
  package var withheld = 0
  /// Whether this relay records bad tokens.
  package var remembers = false
  /// The worker's connection quota; nil without a limit.
  package var connectionQuota: Int?
  /// The app's `per_second`; nil without one.
  package var perSecond: Int?
  /// Notifications that wait for it.
  package var waitingForRate = 0
  /// When the worker last ran a pass (monotonic).
  package var heard: Int64 = 0

  mutating func use(_ agreement: Agreement) {
    (disagreement, isFirst) = (agreement.words, agreement.isFirst)
  }

  // A call would copy the update.
  @inline(__always)
  mutating func count(_ update: EntryUpdate) {
    // Most outcomes are equal, so the dictionary is updated once per run.
    var (last, count) = (PushOutcome.Kind.accepted, 0)
    update.forEachOutcome { outcome in
      let kind = outcome.pointee.kind
      if kind != last {
        if count > 0 { outcomes[last, default: 0] += count }
        (last, count) = (kind, 0)
      }
      count += 1
      if kind == .rejected { reasons[outcome.pointee.reason, default: 0] += 1 }
    }
    if count > 0 { outcomes[last, default: 0] += count }
    switch update.disposition {
    case .deferred(_, true, _): deferred += 1
    case .deferred(_, false, _): redelivered += 1
    default: break
    }
  }
}
