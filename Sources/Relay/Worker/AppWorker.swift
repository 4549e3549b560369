import Client
import CAPNS
import Foundation
import Logging
import Synchronization

/// Works for one app on a separate thread: claims entries, pushes them, and records their outcomes.
/// An entry is acknowledged only after its outcomes are recorded.
package final class AppWorker: @unchecked Sendable {
  private struct Orders {
    var credentials: RelayCredentials?
    /// When to abandon what is in flight (monotonic); nil while the worker is not stopping.
    var drainUntil: Int64?
    /// Entries were just added to the queue.
    var isNews = false
    var hasEnded = false
    var lostOutcomes = 0
    var figures = WorkerFigures()
  }

  package let app: AppConfiguration
  package let settings: RelayConfiguration.Queue
  private let queue: any QueueEngine
  private let log: Logger
  /// Called with the recorded updates, on the worker's thread.
  private let recorded: @Sendable ([EntryUpdate]) -> Void
  /// nil if no listener uses bad tokens.
  private let badTokens: BadTokens?
  private let rules: DeliveryRules
  private let orders = Mutex(Orders())
  private let ended = DispatchSemaphore(value: 0)

  // Used only by the worker's thread.
  private let session: ServiceSession
  private let forwarded: ForwardedLines
  private var standing = StandingProblem()
  private var recorder: BadTokenRecorder?
  private var workerID: WorkerID
  private var outbox: [HeldEntry] = []
  private var outboxStart = 0
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var changed: [HeldEntry] = []
  private var freshCount = 0
  private var firstChange: Int64 = 0
  private var inHand = 0
  @exclusivity(unchecked) private var figures = WorkerFigures()
  private var lastClaimWasEmpty = true
  private var nextClaim: Int64 = 0
  private var nextRenewal: Int64 = 0
  private var nextLook: Int64 = 0
  /// The last heartbeat, as stored in the queue.
  private var lastHeard = RelayClock.now
  /// Before this time (monotonic), reclaims only from workers whose process has exited, not from
  /// silent ones.
  private var reclaimsSilentFrom: Int64 = 0
  /// Before this time (monotonic), claims no entries while it has notifications in hand.
  private var finishesUntil: Int64 = 0
  /// The worker holds suspects of crashes, and gets no other entries.
  private var hasSuspects = false
  /// Entries wait, and APNs is not reached yet.
  private var wantsConnection = false
  /// Before this time (monotonic), does not bring back entries deferred by server errors.
  private var nextBringBack: Int64 = 0
  private var lastServerError: Int64 = 0
  private var hasAccepted = false
  /// Whether other relays have the same settings.
  private var agreement: Agreement
  /// The worker's quota of the app's connections; nil without a limit.
  private var quota: ConnectionQuota?
  private var nextFigures: Int64 = 0
  private var recordAfter: Int64 = 0
  private var loggedProblems: Set<String> = []
  private var problemCause: ProblemCause?

  /// The kind of the last failure. While no pushes are sent, it is over when the same call
  /// succeeds.
  private enum ProblemCause { case claiming, staying, other }

  /// A transaction is due after this many outcomes, after `batchMS`, or at half of what is in hand,
  /// so that a small window does not wait for the clock.
  private static let batch = 512
  /// How long a worker with an expired lease finishes what it has before it claims: it would get
  /// the same entries again, and push them twice.
  private static let finishMS: Int64 = 5000
  private static let batchMS: Int64 = 40
  /// APNs counts as healthy after it has accepted a notification and returned no server error for
  /// this long.
  private static let wellMS: Int64 = 1000

  init(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue, queue: any QueueEngine,
    credentials: RelayCredentials, log: Logger, badTokens: BadTokens? = nil,
    recorded: @escaping @Sendable ([EntryUpdate]) -> Void = { _ in }
  ) throws {
    self.app = app
    self.recorded = recorded
    self.badTokens = badTokens
    self.settings = settings
    self.queue = queue
    var log = log
    log[metadataKey: "app"] = "\(app.name)"
    self.log = log
    rules = DeliveryRules(
      deliveries: settings.maxDeliveries, tries: app.retry.maxDeferrals, delivery: app.delivery)
    let lines = ForwardedLines(log)
    forwarded = lines
    session = try ServiceSession(
      app, credentials, log: SessionLines(upTo: APNS_LOG_DEBUG) { lines.report($0) })
    agreement = Agreement(app, named: Self.name)
    quota = ConnectionQuota(app, leaseMS: Int64(settings.leaseS * 1000), session)
    if let badTokens, badTokens.isUsed {
      recorder = try BadTokenRecorder(app, queue, badTokens, log: log)
    }
    workerID = try queue.join(app: app.name, named: Self.name, at: RelayClock.now)
    figures.certificateEnd = credentials.certificateEnd
    figures.heard = RelayClock.monotonic
    orders.withLock { $0.figures = figures }
  }

  private static var name: String {
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return "\(String(decoding: name, as: UTF8.self)) \(getpid())"
  }

  // MARK: Calls from other threads

  package func start() {
    let thread = Thread { [self] in
      work()
      orders.withLock { $0.hasEnded = true }
      ended.signal()
    }
    thread.name = "app \(app.name)"
    thread.stackSize = 1 << 20
    thread.start()
  }

  func use(_ credentials: RelayCredentials) {
    orders.withLock { $0.credentials = credentials }
    session.wake()
  }

  /// Claims new entries immediately instead of at the next poll.
  func look() {
    orders.withLock { $0.isNews = true }
    session.wake()
  }

  /// Claims no more entries, waits up to this long for responses, and ends.
  package func drain(withinMS milliseconds: Int64) {
    orders.withLock {
      $0.drainUntil = min($0.drainUntil ?? .max, RelayClock.monotonic + milliseconds)
    }
    session.wake()
  }

  package func wait() { ended.wait() }
  /// The number of outcomes that were not recorded before it ended.
  package var lostOutcomes: Int { orders.withLock { $0.lostOutcomes } }
  package var hasEnded: Bool { orders.withLock { $0.hasEnded } }
  package var shownFigures: WorkerFigures { orders.withLock { $0.figures } }

  // MARK: The thread

  private func work() {
    var hasLookedTwice = false
    while true {
      let drainUntil = obey()
      let (now, began) = (RelayClock.monotonic, RelayClock.now)
      // First, so that entries that were reclaimed are neither written nor extended.
      stayKnown(now)
      keepQuota(now)
      if let drainUntil {
        cutOutbox()
        if now >= drainUntil || inHand == 0 {
          end(drainUntil)
          return
        }
      } else {
        claim(now)
      }
      // If the process was suspended during this pass, check the lease again. Only once, because a
      // slow queue takes as long.
      hasLookedTwice = !hasLookedTwice && wasAway(since: began)
      if hasLookedTwice { continue }
      send()
      note(session.process())
      takeResults()
      recordIfDue(RelayClock.monotonic, isLast: false)
      bringBack(now)
      show(now)
      rest(drainUntil)
    }
  }

  private func obey() -> Int64? {
    let (credentials, drainUntil, isNews) = orders.withLock { orders in
      defer { (orders.credentials, orders.isNews) = (nil, false) }
      return (orders.credentials, orders.drainUntil, orders.isNews)
    }
    if isNews, figures.problem == nil { nextClaim = 0 }
    if let credentials {
      do {
        try session.use(credentials)
        figures.certificateEnd = credentials.certificateEnd
        log.notice("new credentials")
      } catch {
        log.error("the new credentials cannot be used, and the old ones stay: \(error.message)")
      }
    }
    return drainUntil
  }

  private func rest(_ drainUntil: Int64?) {
    let now = RelayClock.monotonic
    var wait: Int64 = 200
    if !changed.isEmpty { wait = max(0, max(recordAfter, firstChange + Self.batchMS) - now) }
    if drainUntil == nil, let claimTime { wait = min(wait, max(0, claimTime - now)) }
    if let drainUntil { wait = min(wait, max(0, drainUntil - now)) }
    var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&watched, 1, CInt(min(wait, 200)))
  }

  /// When it may claim (monotonic); nil if another event must come first. Requires room for a
  /// quarter of the window, so that a claim is worth its transaction.
  private var claimTime: Int64? {
    guard !agreement.isBroken, !hasSuspects || inHand == 0, quota?.isEmpty != true,
      app.limits.window - inHand >= max(1, app.limits.window / 4)
    else {
      return nil
    }
    return max(nextClaim, recordAfter, inHand > 0 ? finishesUntil : 0)
  }

  private func claim(_ now: Int64) {
    if wantsConnection, session.isReached() { nextClaim = min(nextClaim, now) }
    guard let claimTime, now >= claimTime else { return }
    do {
      guard session.isReached() else { return try reach(now) }
      wantsConnection = false
      var entries = try queue.claim(
        workerID, room: app.limits.window - inHand, inOrder: app.keepOrder == .device,
        isFree: inHand == 0, at: RelayClock.now)
      nextClaim = entries.isEmpty ? now + Int64(settings.pollMS) : now
      hasSuspects = entries.contains { $0.crashes >= CrashGroup.apart }
      // Moved and not copied, because a copy would retain all of its strings.
      entries.reverse()
      while let entry = entries.popLast() { take(entry) }
      clearProblem(.claiming)
    } catch {
      report("the queue: \(error)", .claiming)
      nextClaim = now + 1000
    }
  }

  /// Connects before the first claim, so that an entry counts a delivery only if it can be sent,
  /// and other relays may claim it until then.
  private func reach(_ now: Int64) throws {
    if !wantsConnection {
      wantsConnection = try queue.isAnythingThere(app: app.name, at: RelayClock.now)
      clearProblem(.claiming)
    }
    nextClaim = now + Int64(settings.pollMS)
    if wantsConnection { note(session.connect()) }
  }

  private func take(_ entry: consuming Entry) {
    figures.claimed += 1
    let held = HeldEntry(entry)
    inHand += held.unresolved + held.fresh.count
    if rules.refuses(held, now: RelayClock.now) || held.unresolved == 0 {
      settle(held)
    } else {
      outbox.append(held)
    }
  }

  private func send() {
    while outboxStart < outbox.count {
      let held = outbox[outboxStart]
      guard sendOn(held) else { break }
      outboxStart += 1
      settle(held)
    }
    if outboxStart == outbox.count {
      outbox.removeAll(keepingCapacity: true)
      outboxStart = 0
    } else if outboxStart > 4096 {
      outbox.removeFirst(outboxStart)
      outboxStart = 0
    }
  }

  /// False if the session has no room for the rest.
  private func sendOn(_ held: HeldEntry) -> Bool {
    while held.cursor < held.count {
      let position = held.cursor
      guard held.isUnresolved(position) else {
        held.cursor += 1
        continue
      }
      do {
        switch try session.send(held, at: position, replacing: app.collapseByID) {
        case .taken: held.inFlight += 1
        case .full: return false
        case .refused(let reason):
          held.end(
            at: position,
            PushOutcome(
              position: position, token: held.token(at: position), kind: .refused, reason: reason))
        }
      } catch {
        note(error)
        return false
      }
      held.cursor += 1
    }
    return true
  }

  /// Returns what was not sent: the relay stops, or the lease has expired.
  private func cutOutbox() {
    for held in outbox[outboxStart...] {
      held.isCut = true
      settle(held)
    }
    outbox.removeAll()
    outboxStart = 0
  }

  private func takeResults() {
    let isRecording = recorder != nil
    let now = RelayClock.monotonic
    session.takeResults { result in
      if isRecording { recorder?.count(&result, at: RelayClock.now) }
      rules.take(result)
      settle(result.held)
      if result.kind == .accepted { hasAccepted = true }
      if result.httpStatus >= 500 {
        hasAccepted = false
        lastServerError = now
        nextBringBack = min(nextBringBack, lastServerError + Self.wellMS)
      }
      if let words = standing.receive(result, at: now, log) {
        show(stop: words)
      } else if figures.problem != nil, result.httpStatus > 0, recordAfter == 0 {
        figures.problem = nil
        loggedProblems.removeAll()
      }
    }
  }

  private func settle(_ held: HeldEntry) {
    held.settle(rules, now: RelayClock.now)
    guard !held.fresh.isEmpty || held.disposition != nil else { return }
    if changed.isEmpty { firstChange = RelayClock.monotonic }
    if !held.isChanged {
      held.isChanged = true
      changed.append(held)
    }
    freshCount += 1
  }

  private func recordIfDue(_ now: Int64, isLast: Bool) {
    guard !changed.isEmpty, now >= recordAfter || isLast,
      isLast || freshCount >= Self.batch || 2 * freshCount >= inHand
        || now - firstChange >= Self.batchMS
    else { return }
    let updates = changed.map { EntryUpdate($0) }
    // Before recording, so that the listener knows the token once the outcome is visible in the
    // queue.
    if let badTokens, recorder != nil {
      for update in updates {
        update.forEachOutcome { outcome in
          guard outcome.pointee.badSince != nil else { return }
          badTokens.add(outcome.pointee.token.text, app: app.name, at: RelayClock.now)
        }
      }
    }
    do {
      try queue.record(updates, by: workerID, at: RelayClock.now)
    } catch {
      // No outcome was recorded, so no entry is acknowledged, and no more are claimed until it
      // works.
      report("outcomes cannot be recorded: \(error)")
      recordAfter = now + 1000
      return
    }
    figures.records += 1
    if recordAfter > 0 {
      recordAfter = 0
      figures.problem = nil
      loggedProblems.removeAll()
      log.notice("outcomes are recorded again")
    }
    for (index, held) in changed.enumerated() {
      figures.count(updates[index])
      inHand -= held.fresh.count
      held.fresh.removeAll()
      held.isChanged = false
      switch updates[index].disposition {
      case .held, .finished: break
      default: inHand -= held.unresolved
      }
    }
    recorded(updates)
    changed.removeAll(keepingCapacity: true)
    freshCount = 0
    // If the order is kept, blocked entries may be sent now.
    nextClaim = min(nextClaim, app.keepOrder == .device ? now : now + Int64(settings.pollMS))
  }

  /// Brings back entries deferred by server errors once APNs is healthy.
  private func bringBack(_ now: Int64) {
    guard hasAccepted, now >= nextBringBack, now - lastServerError >= Self.wellMS, recordAfter == 0
    else { return }
    hasAccepted = false
    nextBringBack = now + 10_000
    do {
      let count = try queue.bringBack(app: app.name, at: RelayClock.now)
      if count > 0 {
        log.notice("APNs is healthy again: \(count) deferred entries are sent now")
        nextClaim = now
      }
    } catch {
      report("the queue: \(error)", .staying)
    }
  }

  private func keepQuota(_ now: Int64) {
    guard quota != nil else { return }
    do {
      try quota?.keep(
        queue, workerID, isNeeded: inHand > 0 || wantsConnection, session, at: now, log)
    } catch {
      // Don't clear the problem after a success: most calls make no query, so success proves
      // little.
      report("the queue: \(error)", .staying)
    }
    figures.connectionQuota = quota?.count
  }

  /// Whether enough time has passed for others to reclaim its entries. Uses the wall clock, because
  /// the monotonic clock stops while the machine sleeps.
  private func wasAway(since time: Int64) -> Bool {
    RelayClock.now - time > Int64(settings.leaseS * 1000) / 2
  }

  private func stayKnown(_ now: Int64) {
    let lease = Int64(settings.leaseS * 1000)
    let clock = RelayClock.now
    let wasAway = wasAway(since: lastHeard)
    guard now >= nextRenewal || wasAway else { return }
    nextRenewal = now + max(50, min(1000, lease / 4))
    // A worker that was itself suspended or cut off from the queue cannot tell which others are
    // silent. Give them a full lease to renew.
    if wasAway { reclaimsSilentFrom = now + lease }
    do {
      // An emptied queue (FLUSHALL) no longer has this worker.
      if try now >= nextLook || wasAway || !queue.knows(workerID) {
        nextLook = now + max(50, lease / 4)
        if try !queue.renew(workerID, at: clock) {
          log.warning("lease expired: other workers have reclaimed this worker's entries")
          // The new owners send what was not written yet.
          cutOutbox()
          session.cancelAll()
          finishesUntil = now + Self.finishMS
          workerID = try queue.join(app: app.name, named: Self.name, at: clock)
        }
        lastHeard = clock
      }
      if recorder == nil, let badTokens, badTokens.isUsed {
        recorder = try BadTokenRecorder(app, queue, badTokens, log: log)
      }
      try recorder?.exchange(at: clock)
      if orders.withLock({ $0.drainUntil == nil }) {
        try agreement.look(queue, workerID, log)
        if figures.disagreement != agreement.words || figures.isFirst != agreement.isFirst {
          nextFigures = 0
        }
        figures.disagreement = agreement.words
        figures.isFirst = agreement.isFirst
      }
      let silentSince = now < reclaimsSilentFrom ? 0 : clock - lease
      let count = try queue.reclaim(silentSince: silentSince, at: clock)
      if count > 0 {
        figures.reclaimed += count
        log.notice("\(count) entries reclaimed from workers that ended or fell silent")
      }
      clearProblem(.staying)
    } catch {
      report("the queue: \(error)", .staying)
    }
  }

  private func end(_ drainUntil: Int64) {
    // Outcomes that only need recording cause no wait.
    let resolved = changed.reduce(0) {
      $0 + $1.fresh.count + ($1.disposition == nil ? 0 : $1.unresolved)
    }
    if inHand > resolved {
      session.cancelAll()
      takeResults()
      log.notice("\(inHand - resolved) notifications have no response yet; they are redelivered")
      let limit = RelayClock.monotonic + 2000
      while !session.close(withinMS: 0), RelayClock.monotonic < limit {
        _ = session.process()
        var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&watched, 1, 50)
      }
      takeResults()
    } else {
      // Closes gracefully, but with a time limit.
      let limit = RelayClock.monotonic + 1000
      while !session.close(withinMS: 500), RelayClock.monotonic < limit {
        _ = session.process()
        var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&watched, 1, 50)
      }
    }
    let limit = max(drainUntil, RelayClock.monotonic) + 5000
    while !changed.isEmpty {
      recordIfDue(RelayClock.monotonic, isLast: true)
      if changed.isEmpty || RelayClock.monotonic > limit { break }
      usleep(100_000)
    }
    let lost = changed.reduce(0) { $0 + $1.fresh.count }
    if lost > 0 {
      log.error("\(lost) outcomes are not recorded; their notifications are redelivered")
      orders.withLock { $0.lostOutcomes = lost }
    }
    do {
      try agreement.leave(queue, workerID)
      try recorder?.exchange(at: RelayClock.now, isLast: true)
      try queue.leave(
        workerID, line: "worker \(workerID.number) stopped before the response", at: RelayClock.now)
    } catch {
      log.error("the queue: \(error)")
    }
    nextFigures = 0
    show(RelayClock.monotonic)
    standing.leave(at: RelayClock.monotonic, log)
    log.info("ended")
  }

  private func note(_ error: LibraryError?) {
    guard let error else { return }
    guard StandingProblem.isOne(error.cause) else { return report(error.message) }
    let words = StandingProblem.words(error)
    standing.meet(words, error.cause, at: RelayClock.monotonic, log)
    show(stop: words)
  }

  private func show(stop words: String) {
    figures.problem = words
    problemCause = .other
    nextFigures = 0
  }

  /// Logs a failure once, until it is over.
  private func report(_ words: String, _ cause: ProblemCause = .other) {
    figures.problem = words
    problemCause = cause
    nextFigures = 0
    if loggedProblems.count > 100 { loggedProblems.removeAll() }
    if loggedProblems.insert(words).inserted { log.warning("\(words)") }
  }

  private func clearProblem(_ cause: ProblemCause) {
    guard problemCause == cause, figures.problem != nil else { return }
    figures.problem = nil
    nextFigures = 0
    loggedProblems.removeAll()
  }

  private func show(_ now: Int64) {
    guard now >= nextFigures else { return }
    nextFigures = now + 500
    standing.look(at: now, log)
    forwarded.isQuiet = standing.words != nil
    figures.isStopped = standing.words != nil
    figures.heard = now
    figures.inHand = inHand
    figures.remembers = recorder != nil
    figures.guardAlarm = recorder?.alarm
    figures.withheld = recorder?.withheld ?? 0
    figures.session = session.metrics(ofApp: app.name)
    orders.withLock { $0.figures = figures }
  }
}
