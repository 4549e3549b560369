/// A worker's counters, for metrics.
package struct WorkerFigures: Sendable {
  package var outcomes: [PushOutcome.End: Int] = [:]
  package var reasons: [String: Int] = [:]
  /// Entries deferred because APNs asked for that.
  package var putOff = 0
  /// Entries redelivered because they were in doubt.
  package var again = 0
  package var claimed = 0
  package var records = 0
  package var inHand = 0
  /// Entries reclaimed from workers that exited or fell silent.
  package var reclaimed = 0
  /// The session's metrics in Prometheus' text format.
  package var session = ""
  /// The reason why pushes or records fail now; nil if they succeed.
  package var trouble: String?
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
  package var connectionShare: Int?
  /// When the worker last ran a pass (monotonic).
  package var heard: Int64 = 0

  package init() {}

  mutating func count(_ verdict: Verdict) {
    // Most outcomes are equal, so the dictionary is updated once per run.
    var (end, count) = (PushOutcome.End.accepted, 0)
    verdict.forEachOutcome { outcome in
      let next = outcome.pointee.end
      if next != end {
        if count > 0 { outcomes[end, default: 0] += count }
        (end, count) = (next, 0)
      }
      count += 1
      if next == .rejected { reasons[outcome.pointee.reason, default: 0] += 1 }
    }
    if count > 0 { outcomes[end, default: 0] += count }
    switch verdict.next {
    case .later(_, true, _): putOff += 1
    case .later(_, false, _): again += 1
    default: break
    }
  }
}
