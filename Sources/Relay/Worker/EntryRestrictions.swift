/// What keeps a worker's entries from being sent: the operator's orders, their limits, and quiet hours.
final class EntryRestrictions {
  private let entries: HeldEntries
  private let recorder: OutcomeRecorder
  private let times: ClaimTimes
  private let report: WorkerReport
  /// When the lane `bulk` waits; nil for never.
  private var quietTimes: QuietTimes?
  /// When that ends (UNIX seconds); nil if it does not wait now.
  private(set) var quietUntil: Int64?

  init(
    _ entries: HeldEntries, _ recorder: OutcomeRecorder, _ times: ClaimTimes, _ report: WorkerReport
  ) {
    (self.entries, self.recorder, self.times, self.report) = (entries, recorder, times, report)
    quietTimes = QuietTimes(entries.app.quietHours)
  }

  private var orders: WorkerOrders { entries.orders }

  /// The lanes from which the worker claims. Cancelled entries end in quiet hours too.
  var lanes: [Lane] {
    quietUntil == nil || orders.endsAny ? Lane.allCases : [.urgent, .normal]
  }

  /// Whether no order waits for its time.
  var areFollowed: Bool { orders.next(after: 0) == .max }

  /// When something changes next (monotonic), if there is no news.
  var next: Int64 {
    let next = orders.next(after: times.newsAt)
    guard let quietUntil else { return next }
    return min(next, RelayClock.monotonic + quietUntil * 1000 - RelayClock.now)
  }

  /// Lets the lane `bulk` wait in the queue during quiet hours.
  func keepQuiet(_ now: Int64) {
    let end = quietTimes?.end(at: RelayClock.now / 1000)
    guard end != quietUntil else { return }
    let wasQuiet = quietUntil != nil
    quietUntil = end
    if let end, !wasQuiet {
      report.log.notice("quiet hours: the lane bulk waits until \(TimeText.of(end * 1000))")
      for held in entries.unsent.remove(where: { $0.lane == .bulk }) { entries.giveBack(held) }
    } else if end == nil {
      report.log.notice("the quiet hours are over")
      times.claim(by: now)
    }
  }

  func followOrdersIfDue(_ now: Int64, isQuiet: @autoclosure () -> Bool) {
    guard orders.isDue(at: now), !isQuiet() || orders.next(after: times.newsAt) <= now else {
      return
    }
    do { try followOrders(now) } catch { report.failed(error, .staying) }
  }

  /// Reads the orders, and applies them if they have changed.
  func followOrders(_ now: Int64) throws {
    if try orders.read(at: now) {
      report.log.notice(
        "the operator's orders have changed (generation \(orders.current.generation))")
      if orders.current.isPaused { entries.giveBackUnsent() }
      for held in entries.unsent.remove(where: { orders.current.state(of: $0.entry.content) != nil }
      ) {
        entries.stop(held)
        entries.settle(held)
      }
      try followLimits()
      times.claim(by: now)
    }
    guard orders.hasToAdvance(at: now) else { return }
    // First, so that nothing is put back later by older orders.
    recorder.recordIfDue(now, isLast: true)
    guard entries.batch.isEmpty else { return }
    try orders.advance(at: now, RelayClock.now)
    times.claim(by: now)
  }

  private func followLimits() throws {
    guard let ended = entries.rates.follow(orders.current) else { return }
    for held in entries.unsent.removeAll() {
      held.bucket = ""
      entries.keep(held)
    }
    for campaign in ended { try entries.rates.forget(campaign) }
  }
}
