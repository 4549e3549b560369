/// What a worker counts, for those who watch it.
package struct WorkerFigures: Sendable {
  package var outcomes: [PushOutcome.End: Int] = [:]
  package var reasons: [String: Int] = [:]
  /// Entries that were put off because the service asked for that.
  package var putOff = 0
  /// Entries that are delivered again because nobody knows whether they arrived.
  package var again = 0
  package var claimed = 0
  package var records = 0
  package var inHand = 0
  /// Entries taken from workers that died or fell silent.
  package var reclaimed = 0
  /// The session's own, in Prometheus' text format.
  package var session = ""
  /// Why nothing can be sent or recorded at present; nil: it can.
  package var trouble: String?
  /// In what another relay on the queue has the app otherwise; nil: in nothing.
  package var disagreement: String?
  /// It stays so until somebody acts.
  package var isStopped = false
  package var certificateEnd: Int64?
  /// Why tokens that the service calls bad do not count at present; nil: there is no alarm.
  package var guardAlarm: String?
  /// Bad tokens that did not count.
  package var withheld = 0
  /// Whether this relay remembers refused tokens.
  package var remembers = false
  /// How many connections it may have of those of the fleet; nil: there is no such limit.
  package var connectionShare: Int?
  /// When the worker was last at work, by the steady clock.
  package var heard: Int64 = 0

  package init() {}

  mutating func count(_ verdict: Verdict) {
    // Most of them end alike, so what is counted by hash is counted for many at once.
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
