import APNSLibrary
import CAPNS
import Foundation
import Logging
import Synchronization

/// Works for one app, on a thread of its own: claims entries, pushes them, records what became of
/// them. Nothing is acknowledged before it is recorded.
package final class AppWorker: @unchecked Sendable {
  private struct Orders {
    var credentials: RelayCredentials?
    /// When to give up what is in flight, by the steady clock; nil: it works on.
    var drainUntil: Int64?
    /// Something was put into the queue just now.
    var isNews = false
    var hasEnded = false
    var lostOutcomes = 0
    var figures = WorkerFigures()
  }

  package let app: AppConfiguration
  package let settings: RelayConfiguration.Queue
  private let queue: any QueueEngine
  private let log: Logger
  /// Told of what was recorded, on the worker's thread.
  private let recorded: @Sendable ([Verdict]) -> Void
  /// nil: nobody asks for tokens that the service refused.
  private let refused: RefusedTokens?
  private let rules: DeliveryRules
  private let orders = Mutex(Orders())
  private let ended = DispatchSemaphore(value: 0)

  // The thread's own.
  private let session: ServiceSession
  private let forwarded: ForwardedLines
  private var problem = StandingProblem()
  private var judge: TokenJudge?
  private var seat: WorkerSeat
  private var outbox: [HeldEntry] = []
  private var outboxStart = 0
  // Not watched by the language, as in `HeldEntry`.
  @exclusivity(unchecked) private var changed: [HeldEntry] = []
  private var freshCount = 0
  private var firstChange: Int64 = 0
  private var inHand = 0
  @exclusivity(unchecked) private var figures = WorkerFigures()
  private var lastClaimWasEmpty = true
  private var nextClaim: Int64 = 0
  private var nextRenewal: Int64 = 0
  private var nextLook: Int64 = 0
  /// When it last said that it lives, as the queue has it.
  private var lastHeard = RelayClock.now
  /// Until then others lose their entries only if they are dead, by the steady clock.
  private var judgesFrom: Int64 = 0
  /// Until then it claims nothing while it has something in hand, by the steady clock.
  private var finishesUntil: Int64 = 0
  /// It has entries that were in crashes, and gets nothing beside them.
  private var hasSuspects = false
  /// Something waits, and the service is not reached yet.
  private var wantsConnection = false
  /// Until then it does not look for what waits because the service was in trouble, by the steady clock.
  private var nextBringBack: Int64 = 0
  private var lastServerError: Int64 = 0
  private var hasAccepted = false
  /// What other relays say of the app.
  private var agreement: Agreement
  /// Its part of the fleet's connections, where these have a limit.
  private var share: FleetShare?
  private var nextFigures: Int64 = 0
  private var recordAfter: Int64 = 0
  private var saidTroubles: Set<String> = []
  private var troubleCause: TroubleCause?

  /// What failed last. Where nothing is pushed it is over when that works again.
  private enum TroubleCause { case claiming, staying, other }

  /// So many outcomes, or so many milliseconds, make a transaction; or half of what is in hand,
  /// so that a small window does not wait for the clock.
  private static let batch = 512
  /// So long one that was taken for dead finishes what it has before it claims: it would get the same
  /// entries again, and push them twice.
  private static let finishMS: Int64 = 5000
  private static let batchMS: Int64 = 40
  /// A service that answered 200 and had no trouble for so long is well.
  private static let wellMS: Int64 = 1000

  init(
    _ app: AppConfiguration, _ settings: RelayConfiguration.Queue, queue: any QueueEngine,
    credentials: RelayCredentials, log: Logger, refused: RefusedTokens? = nil,
    recorded: @escaping @Sendable ([Verdict]) -> Void = { _ in }
  ) throws {
    self.app = app
    self.recorded = recorded
    self.refused = refused
    self.settings = settings
    self.queue = queue
    var log = log
    log[metadataKey: "app"] = "\(app.name)"
    self.log = log
    rules = DeliveryRules(
      deliveries: settings.deliveries, tries: app.later.tries, unknown: app.unknown)
    let lines = ForwardedLines(log)
    forwarded = lines
    session = try ServiceSession(
      app, credentials, log: SessionLines(upTo: APNS_LOG_DEBUG) { lines.tell($0) })
    agreement = Agreement(app, named: Self.name)
    share = FleetShare(app, leaseMS: Int64(settings.leaseS * 1000), session)
    if let refused, refused.isAsked { judge = try TokenJudge(app, queue, refused, log: log) }
    seat = try queue.join(app: app.name, named: Self.name, at: RelayClock.now)
    figures.certificateEnd = credentials.certificateEnd
    figures.heard = RelayClock.steady
    orders.withLock { $0.figures = figures }
  }

  private static var name: String {
    var host = [CChar](repeating: 0, count: 256)
    gethostname(&host, host.count - 1)
    let name = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return "\(String(decoding: name, as: UTF8.self)) \(getpid())"
  }

  // MARK: What other threads call

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

  /// Something is in the queue: it is claimed at once, not at the next look.
  func look() {
    orders.withLock { $0.isNews = true }
    session.wake()
  }

  /// Claims nothing more, waits for answers for so long, and ends.
  package func drain(withinMS milliseconds: Int64) {
    orders.withLock { $0.drainUntil = min($0.drainUntil ?? .max, RelayClock.steady + milliseconds) }
    session.wake()
  }

  package func wait() { ended.wait() }
  /// How many outcomes it could not record before it ended.
  package var lostOutcomes: Int { orders.withLock { $0.lostOutcomes } }
  package var hasEnded: Bool { orders.withLock { $0.hasEnded } }
  package var shownFigures: WorkerFigures { orders.withLock { $0.figures } }

  // MARK: The thread

  private func work() {
    var hasLookedTwice = false
    while true {
      let drainUntil = obey()
      let (now, began) = (RelayClock.steady, RelayClock.now)
      // First: what is others' by now is neither written nor added to.
      stayKnown(now)
      keepShare(now)
      if let drainUntil {
        cutOutbox()
        if now >= drainUntil || inHand == 0 {
          end(drainUntil)
          return
        }
      } else {
        claim(now)
      }
      // Stopped within this turn, it looks first again. Once: a slow queue takes as long.
      hasLookedTwice = !hasLookedTwice && wasAway(since: began)
      if hasLookedTwice { continue }
      send()
      note(session.process())
      takeAnswers()
      recordIfDue(RelayClock.steady, isLast: false)
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
    if isNews, figures.trouble == nil { nextClaim = 0 }
    if let credentials {
      do {
        try session.use(credentials)
        figures.certificateEnd = credentials.certificateEnd
        log.notice("new credentials")
      } catch {
        log.error("the new credentials cannot be used, the old ones stay: \(error.message)")
      }
    }
    return drainUntil
  }

  private func rest(_ drainUntil: Int64?) {
    let now = RelayClock.steady
    var wait: Int64 = 200
    if !changed.isEmpty { wait = max(0, max(recordAfter, firstChange + Self.batchMS) - now) }
    if drainUntil == nil, let claimTime { wait = min(wait, max(0, claimTime - now)) }
    if let drainUntil { wait = min(wait, max(0, drainUntil - now)) }
    var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&watched, 1, CInt(min(wait, 200)))
  }

  /// When it may claim, by the steady clock; nil: not before something else has happened. There is room
  /// for a quarter of the window at least, so that a claim is worth its transaction.
  private var claimTime: Int64? {
    guard !agreement.isBroken, !hasSuspects || inHand == 0, share?.isEmpty != true,
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
        seat, room: app.limits.window - inHand, inOrder: app.order == .device,
        isFree: inHand == 0, at: RelayClock.now)
      nextClaim = entries.isEmpty ? now + Int64(settings.pollMS) : now
      hasSuspects = entries.contains { $0.crashes >= CrashGroup.apart }
      // Each is moved and not copied, which would count references of all its texts.
      entries.reverse()
      while let entry = entries.popLast() { take(entry) }
      heal(.claiming)
    } catch {
      trouble("the queue: \(error)", .claiming)
      nextClaim = now + 1000
    }
  }

  /// Nothing is claimed before the service is there: so nothing counts as delivered that was not sent,
  /// and others may have it meanwhile.
  private func reach(_ now: Int64) throws {
    if !wantsConnection {
      wantsConnection = try queue.isAnythingThere(app: app.name, at: RelayClock.now)
      heal(.claiming)
    }
    nextClaim = now + Int64(settings.pollMS)
    if wantsConnection { note(session.connect()) }
  }

  private func take(_ entry: consuming Entry) {
    figures.claimed += 1
    let held = HeldEntry(entry)
    inHand += held.open + held.fresh.count
    if rules.refuses(held, now: RelayClock.now) || held.open == 0 {
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

  /// False if the session has no room for all of it.
  private func sendOn(_ held: HeldEntry) -> Bool {
    while held.cursor < held.count {
      let position = held.cursor
      guard held.isOpen(position) else {
        held.cursor += 1
        continue
      }
      do {
        switch try session.send(held, at: position, replacing: app.replace) {
        case .taken: held.inFlight += 1
        case .full: return false
        case .refused(let reason):
          held.end(
            at: position,
            PushOutcome(
              position: position, token: held.token(at: position), end: .refused, reason: reason))
        }
      } catch {
        note(error)
        return false
      }
      held.cursor += 1
    }
    return true
  }

  /// The relay stops: what was not sent goes back.
  private func cutOutbox() {
    for held in outbox[outboxStart...] {
      held.isCut = true
      settle(held)
    }
    outbox.removeAll()
    outboxStart = 0
  }

  private func takeAnswers() {
    let isJudging = judge != nil
    let now = RelayClock.steady
    session.takeAnswers { answer in
      if isJudging { judge?.judge(&answer, at: RelayClock.now) }
      rules.take(answer)
      settle(answer.held)
      if answer.kind == .accepted { hasAccepted = true }
      if answer.httpStatus >= 500 {
        hasAccepted = false
        lastServerError = now
        nextBringBack = min(nextBringBack, lastServerError + Self.wellMS)
      }
      if let words = problem.hear(answer, at: now, log) {
        show(stop: words)
      } else if figures.trouble != nil, answer.httpStatus > 0, recordAfter == 0 {
        figures.trouble = nil
        saidTroubles.removeAll()
      }
    }
  }

  private func settle(_ held: HeldEntry) {
    held.settle(rules, now: RelayClock.now)
    guard !held.fresh.isEmpty || held.next != nil else { return }
    if changed.isEmpty { firstChange = RelayClock.steady }
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
    let verdicts = changed.map { Verdict($0) }
    // Before: whoever sees the outcome in the queue finds that the door knows it.
    if let refused, judge != nil {
      for verdict in verdicts {
        verdict.forEachOutcome { outcome in
          guard outcome.pointee.refusedSince != nil else { return }
          refused.add(outcome.pointee.token.text, app: app.name, at: RelayClock.now)
        }
      }
    }
    do {
      try queue.record(verdicts, by: seat, at: RelayClock.now)
    } catch {
      // Nothing was recorded, so nothing is acknowledged, and nothing more is claimed meanwhile.
      trouble("outcomes cannot be recorded: \(error)")
      recordAfter = now + 1000
      return
    }
    figures.records += 1
    if recordAfter > 0 {
      recordAfter = 0
      figures.trouble = nil
      saidTroubles.removeAll()
      log.notice("outcomes are recorded again")
    }
    for (index, held) in changed.enumerated() {
      figures.count(verdicts[index])
      inHand -= held.fresh.count
      held.fresh.removeAll()
      held.isChanged = false
      switch verdicts[index].next {
      case .held, .finished: break
      default: inHand -= held.open
      }
    }
    recorded(verdicts)
    changed.removeAll(keepingCapacity: true)
    freshCount = 0
    // Where the order is kept, what was held back may go now.
    nextClaim = min(nextClaim, app.order == .device ? now : now + Int64(settings.pollMS))
  }

  /// What was put off because the service was in trouble comes back once it is well.
  private func bringBack(_ now: Int64) {
    guard hasAccepted, now >= nextBringBack, now - lastServerError >= Self.wellMS, recordAfter == 0
    else { return }
    hasAccepted = false
    nextBringBack = now + 10_000
    do {
      let count = try queue.bringBack(app: app.name, at: RelayClock.now)
      if count > 0 {
        log.notice("the service is well again: \(count) entries that were put off are sent now")
        nextClaim = now
      }
    } catch {
      trouble("the queue: \(error)", .staying)
    }
  }

  private func keepShare(_ now: Int64) {
    guard share != nil else { return }
    do {
      try share?.keep(queue, seat, isNeeded: inHand > 0 || wantsConnection, session, at: now, log)
    } catch {
      // Most of the time it asks nothing, which heals nothing.
      trouble("the queue: \(error)", .staying)
    }
    figures.connectionShare = share?.count
  }

  /// Long enough for others to take what it has. By the clock, because the steady one stands still while
  /// the machine sleeps.
  private func wasAway(since time: Int64) -> Bool {
    RelayClock.now - time > Int64(settings.leaseS * 1000) / 2
  }

  private func stayKnown(_ now: Int64) {
    let lease = Int64(settings.leaseS * 1000)
    let clock = RelayClock.now
    let wasAway = wasAway(since: lastHeard)
    guard now >= nextRenewal || wasAway else { return }
    nextRenewal = now + max(50, min(1000, lease / 4))
    // One that was away itself, because it was stopped or the queue was out of reach, cannot tell who
    // is silent: the others may have been away too, and get their time to be heard.
    if wasAway { judgesFrom = now + lease }
    do {
      // A queue that was emptied (FLUSHALL) knows nobody.
      if try now >= nextLook || wasAway || !queue.knows(seat) {
        nextLook = now + max(50, lease / 4)
        if try !queue.renew(seat, at: clock) {
          log.warning("this worker was silent for too long, and others have taken its entries")
          // What was not written yet is theirs to send.
          cutOutbox()
          session.cancelAll()
          finishesUntil = now + Self.finishMS
          seat = try queue.join(app: app.name, named: Self.name, at: clock)
        }
        lastHeard = clock
      }
      if judge == nil, let refused, refused.isAsked {
        judge = try TokenJudge(app, queue, refused, log: log)
      }
      try judge?.exchange(at: clock)
      if orders.withLock({ $0.drainUntil == nil }) {
        try agreement.look(queue, seat, log)
        if figures.disagreement != agreement.words { nextFigures = 0 }
        figures.disagreement = agreement.words
      }
      let silentSince = now < judgesFrom ? 0 : clock - lease
      let count = try queue.reclaim(silentSince: silentSince, at: clock)
      if count > 0 {
        figures.reclaimed += count
        log.notice("\(count) entries taken from workers that are gone")
      }
      heal(.staying)
    } catch {
      trouble("the queue: \(error)", .staying)
    }
  }

  private func end(_ drainUntil: Int64) {
    // What is to be recorded is no longer waited for.
    let answered = changed.reduce(0) { $0 + $1.fresh.count + ($1.next == nil ? 0 : $1.open) }
    if inHand > answered {
      session.cancelAll()
      takeAnswers()
      log.notice("\(inHand - answered) notifications have no answer yet; they are delivered again")
      let limit = RelayClock.steady + 2000
      while !session.close(withinMS: 0), RelayClock.steady < limit {
        _ = session.process()
        var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&watched, 1, 50)
      }
      takeAnswers()
    } else {
      // In good order: the service is told, but nobody waits for it.
      let limit = RelayClock.steady + 1000
      while !session.close(withinMS: 500), RelayClock.steady < limit {
        _ = session.process()
        var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&watched, 1, 50)
      }
    }
    let limit = max(drainUntil, RelayClock.steady) + 5000
    while !changed.isEmpty {
      recordIfDue(RelayClock.steady, isLast: true)
      if changed.isEmpty || RelayClock.steady > limit { break }
      usleep(100_000)
    }
    let lost = changed.reduce(0) { $0 + $1.fresh.count }
    if lost > 0 {
      log.error("\(lost) outcomes are not recorded; their notifications are delivered again")
      orders.withLock { $0.lostOutcomes = lost }
    }
    do {
      try agreement.leave(queue, seat)
      try judge?.exchange(at: RelayClock.now, isLast: true)
      try queue.leave(
        seat, saying: "worker \(seat.number) stopped before the answer", at: RelayClock.now)
    } catch {
      log.error("the queue: \(error)")
    }
    nextFigures = 0
    show(RelayClock.steady)
    problem.leave(at: RelayClock.steady, log)
    log.info("ended")
  }

  private func note(_ error: LibraryError?) {
    guard let error else { return }
    guard StandingProblem.isOne(error.cause) else { return trouble(error.message) }
    let words = StandingProblem.words(error)
    problem.meet(words, error.cause, at: RelayClock.steady, log)
    show(stop: words)
  }

  private func show(stop words: String) {
    figures.trouble = words
    troubleCause = .other
    nextFigures = 0
  }

  /// Says it once, until it is over.
  private func trouble(_ words: String, _ cause: TroubleCause = .other) {
    figures.trouble = words
    troubleCause = cause
    nextFigures = 0
    if saidTroubles.count > 100 { saidTroubles.removeAll() }
    if saidTroubles.insert(words).inserted { log.warning("\(words)") }
  }

  private func heal(_ cause: TroubleCause) {
    guard troubleCause == cause, figures.trouble != nil else { return }
    figures.trouble = nil
    nextFigures = 0
    saidTroubles.removeAll()
  }

  private func show(_ now: Int64) {
    guard now >= nextFigures else { return }
    nextFigures = now + 500
    problem.look(at: now, log)
    forwarded.isQuiet = problem.words != nil
    figures.isStopped = problem.words != nil
    figures.heard = now
    figures.inHand = inHand
    figures.remembers = judge != nil
    figures.guardAlarm = judge?.alarm
    figures.withheld = judge?.withheld ?? 0
    figures.session = session.metrics
    orders.withLock { $0.figures = figures }
  }
}
