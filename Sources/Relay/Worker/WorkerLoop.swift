import Client
import CAPNS
import Foundation
import Logging

/// The loop of a worker's thread. Each pass renews what others must know of the worker, claims
/// entries, pushes them, and records their outcomes. Used only by that thread, but for waking its session.
final class WorkerLoop: @unchecked Sendable {
  /// How often it looks around while it has work.
  private static let turnMS: Int64 = 200

  let session: ServiceSession
  let times = ClaimTimes()
  /// Where the worker may rest, and whether it does now; nil if it never rests.
  private var rest: (place: RestingWorkers, begins: () -> Bool)?
  /// When it last had work (monotonic).
  private var busyAt = RelayClock.monotonic
  private let control: WorkerControl
  private let report: WorkerReport
  private let entries: HeldEntries
  private let lease: WorkerLease
  private let recorder: OutcomeRecorder
  private let restrictions: EntryRestrictions
  private let membership: WorkerMembership
  private let claims: EntryClaims
  private let pusher: EntryPusher

  init(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue, queue: any QueueEngine,
    credentials: RelayCredentials, log: Logger, _ badTokens: BadTokens?,
    _ reclaimPace: ReclaimPace, _ control: WorkerControl, _ lease: WorkerLease,
    _ agreement: Agreement,
    recorded: @escaping @Sendable ([EntryUpdate]) -> Void
  ) throws {
    (self.control, self.lease) = (control, lease)
    let lines = ForwardedLines(log)
    session = try ServiceSession(
      app, credentials,
      log: SessionLines(upTo: log.logLevel == .trace ? APNS_LOG_TRACE : APNS_LOG_DEBUG) {
        lines.report($0)
      })
    report = WorkerReport(log, lines, control)
    let quota = ConnectionQuota(app, leaseMS: Int64(settings.leaseS * 1000), session)
    let rules = DeliveryRules(
      deliveries: settings.maxDeliveries, tries: app.retry.maxDeferrals, delivery: app.delivery)
    entries = HeldEntries(app, WorkerOrders(queue, app: app.name), rules, PushRates(app, queue))
    let badTokenRecorder = try BadTokenRecorder(app, queue, badTokens, log: log)
    recorder = OutcomeRecorder(
      queue, lease, entries, times, report, badTokens, badTokenRecorder, recorded: recorded)
    restrictions = EntryRestrictions(entries, recorder, times, report)
    membership = WorkerMembership(
      queue, lease, agreement, quota, session, entries, recorder, times, report, control,
      reclaimPace)
    claims = EntryClaims(
      queue, lease, membership, session, restrictions, entries, recorder, times, report)
    pusher = EntryPusher(queue, session, entries, recorder, times, report)
    report.begin(credentials)
  }

  func mayRest(_ place: RestingWorkers, begins: @escaping () -> Bool) {
    rest = (place, begins)
    report.lacksRoom = { place.makeRoom() }
  }

  /// Until it is told to drain, or rests.
  func run() {
    var hasLookedTwice = false
    while true {
      let (now, began) = (RelayClock.monotonic, RelayClock.now)
      let drainUntil = obey(now)
      // First, so that entries that were reclaimed are neither written nor extended.
      membership.renewIfDue(now) { isIdle }
      membership.keepQuota(now, isNeeded: entries.count > 0 || claims.wantsConnection)
      restrictions.followOrdersIfDue(now, isQuiet: isIdle && !times.hasNews)
      restrictions.keepQuiet(now)
      if let drainUntil {
        entries.giveBackUnsent()
        if now >= drainUntil || entries.count == 0 { return end(drainUntil) }
      } else {
        claims.refill(now)
        claims.claim(now)
        claims.lookForOthers(now)
      }
      // If the process was suspended during this pass, check the lease again. Only once, because a
      // slow queue takes as long.
      hasLookedTwice = !hasLookedTwice && lease.wasAway(since: began)
      if hasLookedTwice { continue }
      pusher.send()
      report.note(session.process())
      pusher.takeResults()
      recorder.recordIfDue(RelayClock.monotonic, isLast: false)
      pusher.bringBack(now)
      show(now)
      if drainUntil == nil, begunToRest(now) { return close() }
      wait(drainUntil)
    }
  }

  private func obey(_ now: Int64) -> Int64? {
    let requests = control.take()
    times.beginPass(at: now, isNews: requests.isNews, report.problem)
    if let credentials = requests.credentials {
      do {
        try session.use(credentials)
        report.figures.certificateEnd = credentials.certificateEnd
        report.log.notice("new credentials")
      } catch {
        report.log.error(
          "the new credentials cannot be used, and the old ones stay: \(error.message)")
      }
    }
    return requests.drainUntil
  }

  private func wait(_ drainUntil: Int64?) {
    let now = RelayClock.monotonic
    let isIdle = drainUntil == nil && self.isIdle
    var time = min(isIdle ? nextTime : now + Self.turnMS, entries.next)
    time = min(time, drainUntil ?? claims.next)
    // The session may have taken the wake of what came during this turn.
    if pusher.hasRoomAgain || control.hasMore(than: drainUntil) { time = now }
    let hasEvent = waitForSession(upToMS: CInt(clamping: max(0, time - now)))
    report.isOld = report.isOld || hasEvent || !isIdle
  }

  /// Returns whether the session has events, or another thread has woken it.
  @discardableResult
  private func waitForSession(upToMS milliseconds: CInt) -> Bool {
    var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// Whether it has nothing to do before there are news, or before `nextTime`.
  private var isIdle: Bool {
    times.hasWatch && entries.count == 0 && entries.batch.isEmpty && !claims.wantsConnection
      && membership.isInOrder
  }

  /// When an idle worker has something to do (monotonic), if it claims nothing.
  private var nextTime: Int64 {
    let problem = report.problem
    let isWaiting =
      problem.isOfQueue || problem.standing.isInDoubt || recorder.badTokenRecorder?.hasMore == true
    return [
      membership.next(after: isWaiting ? .max : times.newsAt), restrictions.next, pusher.next,
      report.next, claims.nextRefill, restTime,
    ].min()!
  }

  /// When it may rest if nothing happens until then (monotonic).
  private var restTime: Int64 {
    membership.hasQuota ? .max : rest.map { busyAt + $0.place.afterMS } ?? .max
  }

  private func begunToRest(_ now: Int64) -> Bool {
    guard let rest else { return false }
    guard isIdle else {
      busyAt = now
      return false
    }
    guard now >= restTime else { return false }
    // If it cannot rest, it looks again after as long.
    busyAt = now
    return claims.next == .max && restrictions.areFollowed && !report.problem.isAny
      && rest.begins()
  }

  private func close() {
    close(withinMS: 500, until: RelayClock.monotonic + 1000)
    report.showSoon()
    show(RelayClock.monotonic)
  }

  private func end(_ drainUntil: Int64) {
    // Outcomes that only need recording cause no wait.
    let pending = entries.count - entries.batch.resolved
    if pending > 0 {
      session.cancelAll()
      pusher.takeResults()
      report.log.notice("\(pending) notifications have no response yet; they are redelivered")
      close(withinMS: 0, until: RelayClock.monotonic + 2000)
      pusher.takeResults()
    } else {
      // Closes gracefully, but with a time limit.
      close(withinMS: 500, until: RelayClock.monotonic + 1000)
    }
    recordRest(until: max(drainUntil, RelayClock.monotonic) + 5000)
    do { try membership.leave() } catch { report.log.error("the queue: \(error)") }
    report.showSoon()
    show(RelayClock.monotonic)
    report.leave()
    report.log.info("ended")
  }

  private func close(withinMS milliseconds: Int32, until limit: Int64) {
    while !session.close(withinMS: milliseconds), RelayClock.monotonic < limit {
      _ = session.process()
      waitForSession(upToMS: 50)
    }
  }

  private func recordRest(until limit: Int64) {
    while !entries.batch.isEmpty {
      recorder.recordIfDue(RelayClock.monotonic, isLast: true)
      if entries.batch.isEmpty || RelayClock.monotonic > limit { break }
      usleep(100_000)
    }
    let lost = entries.batch.outcomes
    guard lost > 0 else { return }
    report.log.error("\(lost) outcomes are not recorded; their notifications are redelivered")
    control.shown.withLock { $0.lostOutcomes = lost }
  }

  func show(_ now: Int64) {
    report.show(at: now) { figures in
      figures.inHand = entries.count
      figures.perSecond = entries.rates.ofApp?.perSecond
      figures.waitingForRate = entries.tokenTime > 0 ? entries.unsent.count : 0
      figures.remembers = recorder.badTokenRecorder != nil
      figures.guardAlarm = recorder.badTokenRecorder?.alarm
      figures.withheld = recorder.badTokenRecorder?.withheld ?? 0
      figures.session = session.metrics(ofApp: entries.app.name)
      figures.connections = session.openConnections
    }
  }
}
