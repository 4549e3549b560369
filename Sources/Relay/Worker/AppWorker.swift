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
  private var recorder: BadTokenRecorder?
  private var lease: WorkerLease
  private let unsent = UnsentEntries()
  // No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) private var problem: WorkerProblem
  @exclusivity(unchecked) private var batch = OutcomeBatch()
  private var inHand = 0
  /// The same by lane.
  private var inHandByLane = ByLane(0)
  @exclusivity(unchecked) private var figures = WorkerFigures()
  private var nextClaim: Int64 = 0
  /// When it looks for entries of other lanes than those that it has.
  private var nextLook: Int64 = 0
  /// A response made room for what is not sent yet.
  private var hasRoomAgain = false
  /// Before this time (monotonic), claims no entries while it has notifications in hand.
  private var finishesUntil: Int64 = 0
  /// The lease cannot be renewed, and others may have the entries soon.
  private var isCutOff = false
  /// The worker holds suspects of crashes, and gets no other entries.
  private var hasSuspects = false
  /// Entries wait, and APNs is not reached yet.
  private var wantsConnection = false
  @exclusivity(unchecked) private var health = ServiceHealth()
  /// Whether other relays have the same settings.
  private var agreement: Agreement
  /// What the operator wants of the app's entries.
  private var standing: WorkerOrders
  /// The worker's quota of the app's connections; nil without a limit.
  private var quota: ConnectionQuota?
  /// The app's `per_second`, shared with other relays; nil without a limit.
  @exclusivity(unchecked) private var rate: RateLimit?
  /// The same of its campaigns.
  @exclusivity(unchecked) private var rates = CampaignRates()
  /// When the lane `bulk` waits; nil for never.
  private var quietTimes: QuietTimes?
  /// When that ends (UNIX seconds); nil if it does not wait now.
  private var quietUntil: Int64?
  private var nextFigures: Int64 = 0
  /// Something may have happened since the figures were shown.
  private var areFiguresOld = false
  /// nil if the engine reports no changes.
  private var watch: QueueNews.Watch?
  /// When the queue reported the last one (monotonic).
  private var newsAt: Int64 = 0
  private var turnedAt: Int64 = 0
  /// When it last had looked at what other relays have in the queue.
  private var lookedAt: Int64 = -1

  /// How long a worker with an expired lease finishes what it has before it claims: it would get
  /// the same entries again, and push them twice.
  private static let finishMS: Int64 = 5000
  /// How often a worker with notifications in hand looks for entries that overtake them.
  private static let lookMS: Int64 = 10
  /// How often it looks for entries without news of them: others may have returned some, or they
  /// wait for more than a time.
  private static let lookAgainMS: Int64 = 50
  /// It leaves a queue that fails alone for this long.
  private static let troubleMS: Int64 = 1000
  /// How often it looks around while it has work.
  private static let turnMS: Int64 = 200
  /// It claims no more than it may send in this time, so that other relays send the rest, and urgent
  /// entries overtake.
  private static let claimedS = 2

  /// The most notifications that are not sent yet.
  private var window: Int {
    rate.map { min(app.limits.window, $0.perSecond * Self.claimedS) } ?? app.limits.window
  }

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
    self.log = log
    rules = DeliveryRules(
      deliveries: settings.maxDeliveries, tries: app.retry.maxDeferrals, delivery: app.delivery)
    let lines = ForwardedLines(log)
    forwarded = lines
    session = try ServiceSession(
      app, credentials, log: SessionLines(upTo: APNS_LOG_DEBUG) { lines.report($0) })
    problem = WorkerProblem(log)
    agreement = Agreement(app, named: WorkerLease.name)
    standing = WorkerOrders(queue, app: app.name)
    quota = ConnectionQuota(app, leaseMS: Int64(settings.leaseS * 1000), session)
    rate = RateLimit(app.limits.perSecond, bucket: RateLimit.ofApp)
    quietTimes = QuietTimes(app.quietHours)
    if let badTokens, badTokens.isUsed {
      recorder = try BadTokenRecorder(app, queue, badTokens, log: log)
    }
    lease = try WorkerLease(queue, app: app.name, ms: Int64(settings.leaseS * 1000))
    figures.certificateEnd = credentials.certificateEnd
    figures.heard = RelayClock.monotonic
    orders.withLock { $0.figures = figures }
  }

  // MARK: Calls from other threads

  package func start() {
    watch = queue.watch(.entries, of: app.name) { [weak self] in self?.look() }
    let thread = Thread { [self] in
      work()
      watch = nil
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

  /// Claims new entries, and follows new orders.
  func look() {
    let isAwake = orders.withLock { orders in
      defer { orders.isNews = true }
      return orders.isNews
    }
    if !isAwake { session.wake() }
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
      let (now, began) = (RelayClock.monotonic, RelayClock.now)
      let drainUntil = obey(now)
      // First, so that entries that were reclaimed are neither written nor extended.
      stayKnown(now)
      keepQuota(now)
      followOrdersIfDue(now)
      keepQuiet(now)
      if let drainUntil {
        cutUnsent()
        if now >= drainUntil || inHand == 0 {
          end(drainUntil)
          return
        }
      } else {
        refill(now)
        claim(now)
        lookForOthers(now)
      }
      // If the process was suspended during this pass, check the lease again. Only once, because a
      // slow queue takes as long.
      hasLookedTwice = !hasLookedTwice && lease.wasAway(since: began)
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

  private func obey(_ now: Int64) -> Int64? {
    defer { turnedAt = now }
    let (credentials, drainUntil, isNews) = orders.withLock { orders in
      defer { (orders.credentials, orders.isNews) = (nil, false) }
      return (orders.credentials, orders.drainUntil, orders.isNews)
    }
    if isNews {
      // Later than what it did in the same millisecond.
      newsAt = max(now, turnedAt + 1)
      if problem.words == nil { (nextClaim, nextLook) = (0, 0) }
      nextClaim = min(nextClaim, newsAt + (problem.isOfQueue ? Self.troubleMS : Self.lookAgainMS))
    }
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
    let isIdle = drainUntil == nil && self.isIdle
    var wait = isIdle ? max(0, nextTime - now) : Self.turnMS
    if hasRoomAgain { wait = 0 }
    if !batch.isEmpty { wait = min(wait, max(0, batch.due - now)) }
    if drainUntil == nil, let claimTime { wait = min(wait, max(0, claimTime - now)) }
    if drainUntil == nil, inHand > 0, canClaim {
      wait = min(wait, max(0, max(nextLook, earliestClaim) - now))
    }
    if tokenTime > 0 { wait = min(wait, max(0, tokenTime - now)) }
    if let time = rates.waitsUntil(with: unsent) { wait = min(wait, max(0, time - now)) }
    if let drainUntil { wait = min(wait, max(0, drainUntil - now)) }
    // The session may have taken the wake of what came during this turn.
    if orders.withLock({ $0.isNews || $0.credentials != nil || $0.drainUntil != drainUntil }) {
      wait = 0
    }
    let hasEvent = waitForSession(upToMS: CInt(clamping: wait))
    areFiguresOld = areFiguresOld || hasEvent || !isIdle
  }

  /// Returns whether the session has events, or another thread has woken it.
  @discardableResult
  private func waitForSession(upToMS milliseconds: CInt) -> Bool {
    var watched = pollfd(fd: session.descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&watched, 1, milliseconds) > 0
  }

  /// Whether it has nothing to do before there are news, or before `nextTime`.
  private var isIdle: Bool {
    watch != nil && inHand == 0 && batch.isEmpty && !wantsConnection && !isCutOff
      && !agreement.isBroken
  }

  /// Whether it is idle, and other relays have changed nothing: not even a heartbeat needs a look at them.
  private var isQuiet: Bool { isIdle && newsAt <= lookedAt }

  /// When an idle worker has something to do (monotonic), if it claims nothing.
  private var nextTime: Int64 {
    let isWaiting = problem.isOfQueue || problem.standing.isInDoubt || recorder?.hasMore == true
    var time = lease.next(after: isWaiting ? .max : newsAt)
    time = min(time, standing.next(after: newsAt), health.mayBeHealthyAt)
    if areFiguresOld { time = min(time, nextFigures) }
    if let quietUntil {
      time = min(time, RelayClock.monotonic + quietUntil * 1000 - RelayClock.now)
    }
    if let quota { time = min(time, quota.nextRenewal) }
    if canClaim, !rates.isEmpty {
      time = min(time, rates.nextLook { standing.current.campaigns[$0]?.state != nil })
    }
    return time
  }

  /// Whether no other event must come before a claim.
  private var canClaim: Bool {
    // What it has not recorded may be in the queue again: if it claimed that, the old record would
    // return the new delivery.
    batch.retryAt == 0 && !isCutOff && !agreement.isBroken && (!hasSuspects || inHand == 0)
      && quota?.isEmpty != true && !standing.current.isPaused
  }

  /// When it may claim (monotonic); nil if another event must come first.
  private var claimTime: Int64? {
    guard canClaim, hasRoom else { return nil }
    return max(nextClaim, earliestClaim)
  }

  /// Whether there is room for a quarter of the window, so that a claim is worth its transaction.
  private var hasRoom: Bool { room >= max(1, window / 4) }

  /// How many notifications it may claim. Entries that wait for the limit of their campaign take no room.
  private var room: Int {
    let paced = unsent.countInBuckets
    let room = app.limits.window - inHand + paced
    return rate == nil ? room : min(room, window - unsent.count + paced)
  }

  private var earliestClaim: Int64 { max(inHand > 0 ? finishesUntil : 0, tokenTime) }

  /// When it may send again what it has (monotonic); 0 if it waits for no token. Until then it needs
  /// no other entries, not even urgent ones.
  private var tokenTime: Int64 { unsent.isEmpty ? 0 : rate?.waitsUntil ?? 0 }

  private func claim(_ now: Int64) {
    if wantsConnection, session.isReached() { nextClaim = min(nextClaim, now) }
    guard let claimTime, now >= claimTime else { return }
    do {
      guard session.isReached() else { return try reach(now) }
      wantsConnection = false
      let count = try claim(lanes, room: room)
      nextClaim = count == 0 ? try lookAgain(now) : now
      clear(.claiming)
    } catch {
      fail(error, now)
    }
  }

  /// When to look again if there was nothing to claim: at the next due time, because there are news of
  /// anything else.
  private func lookAgain(_ now: Int64) throws -> Int64 {
    guard watch != nil, inHand == 0 else { return now + Self.lookAgainMS }
    let clock = RelayClock.now
    guard let due = try queue.nextDue(app: app.name, lanes: lanes, at: clock) else { return .max }
    return now + max(due - clock, Self.lookAgainMS)
  }

  /// Claims entries, and returns their number.
  private func claim(_ lanes: [Lane], room: Int) throws -> Int {
    var entries = try queue.claim(
      lease.workerID, lanes: lanes, room: room, inOrder: app.keepOrder == .device,
      isFree: inHand == unsent.countInBuckets, at: RelayClock.now)
    // The last one first. Moved and not copied, because a copy would retain all of its strings.
    var claimed: [HeldEntry] = []
    claimed.reserveCapacity(entries.count)
    while let entry = entries.popLast() { claimed.append(HeldEntry(entry)) }
    hasSuspects = claimed.contains { $0.entry.crashes >= CrashGroup.apart }
    // After the claim, because a campaign that was cancelled before it is not sent.
    var blindness: (any Error)?
    if claimed.contains(where: { $0.entry.content.campaign != nil })
      || !claimed.isEmpty && standing.isDue(at: RelayClock.monotonic)
    {
      do { try followOrders(RelayClock.monotonic) } catch { blindness = error }
    }
    // A crash must not be blamed on others.
    var hasStopped = hasSuspects && !unsent.isEmpty
    if hasSuspects { for held in unsent.removeAll() { giveBack(held) } }
    for held in claimed.reversed() {
      hasStopped = take(held, isBlind: blindness != nil) || hasStopped
    }
    if standing.current.isPaused { cutUnsent() }
    if hasStopped { recordIfDue(RelayClock.monotonic, isLast: true) }
    if let blindness { throw blindness }
    return claimed.count
  }

  /// The lanes from which it claims. Cancelled entries end in quiet hours too.
  private var lanes: [Lane] {
    quietUntil == nil || standing.endsAny ? Lane.allCases : [.urgent, .normal]
  }

  /// Lets the lane `bulk` wait in the queue during quiet hours.
  private func keepQuiet(_ now: Int64) {
    let end = quietTimes?.end(at: RelayClock.now / 1000)
    guard end != quietUntil else { return }
    let wasQuiet = quietUntil != nil
    quietUntil = end
    if let end, !wasQuiet {
      log.notice("quiet hours: the lane bulk waits until \(TimeText.of(end * 1000))")
      for held in unsent.remove(where: { $0.lane == .bulk }) { giveBack(held) }
    } else if end == nil {
      log.notice("the quiet hours are over")
      nextClaim = min(nextClaim, now)
    }
  }

  // MARK: The operator's orders

  private func followOrdersIfDue(_ now: Int64) {
    guard standing.isDue(at: now), !isQuiet || standing.next(after: newsAt) <= now else { return }
    do { try followOrders(now) } catch { report("the queue: \(error)", .staying) }
  }

  /// Reads the orders, and applies them if they have changed.
  private func followOrders(_ now: Int64) throws {
    if try standing.read(at: now) {
      log.notice("the operator's orders have changed (generation \(standing.current.generation))")
      if standing.current.isPaused { cutUnsent() }
      for held in unsent.remove(where: { standing.current.state(of: $0.entry.content) != nil }) {
        stop(held)
        settle(held)
      }
      try followLimits()
      nextClaim = min(nextClaim, now)
    }
    guard standing.hasToAdvance(at: now) else { return }
    // First, so that nothing is put back later by older orders.
    recordIfDue(now, isLast: true)
    guard batch.isEmpty else { return }
    try standing.advance(at: now, RelayClock.now)
    nextClaim = min(nextClaim, now)
  }

  private func followLimits() throws {
    let (orders, perSecond) = (standing.current, standing.current.perSecond ?? app.limits.perSecond)
    if perSecond != rate?.perSecond ?? 0 { rate = RateLimit(perSecond, bucket: RateLimit.ofApp) }
    guard !rates.isEmpty || !orders.limits.isEmpty else { return }
    let ended = rates.follow(orders.limits)
    for held in unsent.removeAll() {
      held.bucket = ""
      keep(held)
    }
    for campaign in ended {
      try queue.setAppState(OrderStore.bucket(of: campaign), nil, app: app.name)
    }
  }

  /// Gets more of the limited campaigns of which it has little left.
  private func refill(_ now: Int64) {
    // Without a connection it needs some to be due, so that it connects.
    guard !rates.isEmpty, hasRoom, canClaim, now >= earliestClaim,
      session.isReached() || !wantsConnection
    else { return }
    do {
      let hasSome = try rates.refill(
        queue, app: app.name, lanes: lanes, room: room, unsent,
        except: { standing.current.campaigns[$0]?.state != nil }, at: now)
      if hasSome { nextClaim = now }
    } catch {
      fail(error, now)
    }
  }

  /// Keeps an entry to send it. False if it waits in the queue for the limit of its campaign.
  @discardableResult
  private func keep(_ held: HeldEntry) -> Bool {
    if !rates.isEmpty {
      held.bucket = held.entry.content.campaign.flatMap { rates.limits($0) ? $0 : nil } ?? ""
      let isKept =
        held.bucket.isEmpty || held.entry.crashes >= CrashGroup.apart
        || rates.keeps(
          held.count - held.cursor, of: held.bucket, having: unsent.count(of: held.bucket))
      guard isKept else {
        giveBack(held)
        return false
      }
    }
    unsent.append(held)
    return true
  }

  /// Returns the rest of an entry. In a limited campaign all of that waits for the limit, so that it
  /// stays in its order.
  private func giveBack(_ held: HeldEntry) {
    held.isCut = true
    held.returnsAt = held.bucket.isEmpty ? nil : PacedTime.of(held.bucket)
    settle(held)
  }

  /// Ends what is not sent of an entry, or lets it wait, as the orders say. False if it is sent.
  @discardableResult
  private func stop(_ held: HeldEntry) -> Bool {
    guard held.disposition == nil else { return false }
    switch standing.current.state(of: held.entry.content) {
    case nil: return false
    case .cancelled: held.cancel()
    case .paused: (held.isCut, held.isPaused) = (true, true)
    }
    return true
  }

  /// If it has few entries of a lane, claims more of them, beyond the window: a window full of one
  /// lane must not delay the others.
  private func lookForOthers(_ now: Int64) {
    guard inHand > 0, canClaim, now >= max(nextLook, earliestClaim) else { return }
    // While all wait for the limits of their campaigns, it looks as often as without any.
    nextLook = now + (inHand == unsent.countInBuckets ? Self.lookAgainMS : Self.lookMS)
    if !session.isReached() { return }
    if claimTime != nil {
      // It takes the urgent ones first. If the window has room afterwards, no others wait.
      nextClaim = now
      claim(now)
      guard claimTime == nil else { return }
    }
    let share = max(1, window / Lane.share)
    func unlimited(_ lane: Lane) -> Int { inHandByLane[lane] - unsent.countsOfLanes[lane] }
    let lanes = lanes.filter { unlimited($0) < share }
    do {
      // One after the other, because each has its own room.
      for lane in lanes where canClaim { _ = try claim([lane], room: share - unlimited(lane)) }
      clear(.claiming)
    } catch {
      fail(error, now)
    }
  }

  private func fail(_ error: any Error, _ now: Int64) {
    report("the queue: \(error)", .claiming)
    (nextClaim, nextLook) = (now + Self.troubleMS, now + Self.troubleMS)
  }

  /// Connects before the first claim, so that an entry counts a delivery only if it can be sent,
  /// and other relays may claim it until then.
  private func reach(_ now: Int64) throws {
    if !wantsConnection {
      wantsConnection = try queue.isAnythingThere(app: app.name, at: RelayClock.now)
      clear(.claiming)
    }
    nextClaim = wantsConnection ? now + Self.lookAgainMS : try lookAgain(now)
    if wantsConnection { note(session.connect()) }
  }

  /// True if it is not kept, such as by orders. With `isBlind` they are unknown, and a campaign's entry
  /// is returned.
  private func take(_ held: HeldEntry, isBlind: Bool) -> Bool {
    figures.claimed += 1
    count(held.unresolved + held.fresh.count, of: held)
    if isBlind, held.entry.content.campaign != nil { held.isCut = true }
    let isStopped = held.isCut || standing.stopsAny && stop(held)
    if isStopped || rules.refuses(held, now: RelayClock.now) || held.unresolved == 0 {
      settle(held)
      return isStopped
    }
    if let quietUntil, held.lane == .bulk {
      // It was in a crash, or another one was cancelled.
      held.isCut = true
      held.returnsAt = ParkedTime.of(quietUntil * 1000, isGuess: false)
      settle(held)
      return true
    }
    return !keep(held)
  }

  /// Adds to the notifications in hand.
  private func count(_ number: Int, of held: HeldEntry) {
    inHand += number
    inHandByLane[held.lane] += number
  }

  /// Gives the session only what it can write now, so that urgent notifications do not wait behind
  /// others there.
  private func send() {
    guard !unsent.isEmpty else { return }
    unsent.unblock()
    rate?.begin()
    if !rates.isEmpty { rates.begin() }
    var room = session.room()
    while let (held, turns) = unsent.next {
      let free = unsent.hasUrgent ? room.free : room.free - room.kept
      guard free > 0 else { return }
      let first = held.cursor
      let most = min(
        turns, rate == nil && held.bucket.isEmpty ? free : paced(held, upTo: free))
      guard most > 0 else {
        unsent.block(held.bucket)
        continue
      }
      var left = most
      let goesOn = sendOn(held, &left)
      rate?.use(most - left)
      if !held.bucket.isEmpty { rates.use(most - left, of: held.bucket) }
      room.free -= most - left
      unsent.sent(most - left, passed: held.cursor - first, of: held)
      if held.cursor >= held.count {
        unsent.removeFirst(of: held.lane)
        settle(held)
      }
      guard goesOn else { return }
    }
  }

  /// How many of up to `most` notifications may be sent now, beginning with this entry's.
  private func paced(_ held: HeldEntry, upTo most: Int) -> Int {
    // It may have waited for long.
    if rules.expires(held, now: RelayClock.now) { return most }
    do {
      var most = most
      if !held.bucket.isEmpty {
        most = try rates.take(
          upTo: min(most, unsent.count(of: held.bucket)), of: held.bucket, queue, app: app.name)
      }
      guard most > 0 else { return 0 }
      return try rate?.take(upTo: min(most, unsent.count), queue, app: app.name) ?? most
    } catch {
      report("the queue: \(error)", .staying)
      return 0
    }
  }

  /// Sends up to `left` notifications. False if the session has no room for the rest.
  private func sendOn(_ held: HeldEntry, _ left: inout Int) -> Bool {
    while held.cursor < held.count, left > 0 {
      let position = held.cursor
      guard held.isUnresolved(position) else {
        held.cursor += 1
        continue
      }
      do {
        switch try session.send(held, at: position, replacing: app.collapseByID) {
        case .taken:
          held.inFlight += 1
          left -= 1
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
  private func cutUnsent() {
    for held in unsent.removeAll() { giveBack(held) }
  }

  private func takeResults() {
    let isRecording = recorder != nil
    let (now, clock) = (RelayClock.monotonic, RelayClock.now)
    var hasAny = false
    session.takeResults { result in
      hasAny = true
      if isRecording { recorder?.count(&result, at: clock) }
      let held = result.held
      let unresolved = held.unresolved
      rules.take(result)
      if result.isResponse, held.unresolved < unresolved {
        figures.durations[held.lane].add(clock - held.entry.made)
      }
      settle(held)
      health.receive(result, at: now)
      if problem.receive(result, at: now, isRecording: batch.retryAt == 0) { nextFigures = 0 }
    }
    hasRoomAgain = hasAny && !unsent.isEmpty
  }

  private func settle(_ held: HeldEntry) {
    if held.isPaused { held.isPaused = standing.current.state(of: held.entry.content) == .paused }
    if let due = held.returnsAt, PacedTime.times.contains(due), !rates.limits(held.bucket) {
      held.returnsAt = nil
    }
    held.settle(rules, now: RelayClock.now)
    guard !held.fresh.isEmpty || held.disposition != nil else { return }
    batch.add(held)
  }

  private func recordIfDue(_ now: Int64, isLast: Bool) {
    guard isLast ? !batch.isEmpty : batch.isDue(at: now, inHand: inHand) else { return }
    let updates = batch.entries.map { EntryUpdate($0) }
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
      try queue.record(updates, by: lease.workerID, at: RelayClock.now)
    } catch {
      // No outcome was recorded, so no entry is acknowledged, and no more are claimed until it
      // works.
      report("outcomes cannot be recorded: \(error)")
      batch.retryAt = now + 1000
      return
    }
    figures.records += 1
    if batch.retryAt > 0 {
      problem.clear()
      log.notice("outcomes are recorded again")
    }
    for (index, held) in batch.entries.enumerated() {
      figures.count(updates[index])
      count(-held.fresh.count, of: held)
      held.fresh.removeAll()
      held.isChanged = false
      switch updates[index].disposition {
      case .held, .finished: break
      default: count(-held.unresolved, of: held)
      }
    }
    recorded(updates)
    batch.clear()
    // If the order is kept, blocked entries may be sent now.
    nextClaim = min(nextClaim, app.keepOrder == .device ? now : now + Self.lookAgainMS)
  }

  /// Brings back entries deferred by server errors once APNs is healthy.
  private func bringBack(_ now: Int64) {
    guard batch.retryAt == 0, health.bringsBack(at: now) else { return }
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
        queue, lease.workerID, isNeeded: inHand > 0 || wantsConnection, session, at: now, log)
    } catch {
      // Don't clear the problem after a success: most calls make no query, so success proves
      // little.
      report("the queue: \(error)", .staying)
    }
    figures.connectionQuota = quota?.count
  }

  private func stayKnown(_ now: Int64) {
    guard lease.isDue(at: now) else { return }
    let clock = RelayClock.now
    do {
      if try !lease.renew(queue, at: now, clock) {
        log.warning("lease expired: other workers have reclaimed this worker's entries")
        cutOff()
        finishesUntil = now + Self.finishMS
        newsAt = now
        try lease.join(queue, at: clock)
      }
      isCutOff = false
      if recorder == nil, let badTokens, badTokens.isUsed {
        recorder = try BadTokenRecorder(app, queue, badTokens, log: log)
      }
      try recorder?.exchange(at: clock)
      if !isQuiet, orders.withLock({ $0.drainUntil == nil }) {
        try agreement.look(queue, lease.workerID, log)
        if figures.disagreement != agreement.words || figures.isFirst != agreement.isFirst {
          nextFigures = 0
        }
        figures.disagreement = agreement.words
        figures.isFirst = agreement.isFirst
      }
      let count = try queue.reclaim(silentSince: lease.silentSince(now, clock), at: clock)
      if count > 0 {
        figures.reclaimed += count
        log.notice("\(count) entries reclaimed from workers that ended or fell silent")
      }
      lookedAt = now
      // Without news too, because a changed clock makes none.
      if isIdle { nextClaim = min(nextClaim, now) }
      clear(.staying)
    } catch {
      report("the queue: \(error)", .staying)
      if lease.isLate, !isCutOff { cutOff() }
    }
  }

  /// Other workers send what was not written yet.
  private func cutOff() {
    cutUnsent()
    session.cancelAll()
    isCutOff = true
  }

  private func end(_ drainUntil: Int64) {
    // Outcomes that only need recording cause no wait.
    let resolved = batch.entries.reduce(0) {
      $0 + $1.fresh.count + ($1.disposition == nil ? 0 : $1.unresolved)
    }
    if inHand > resolved {
      session.cancelAll()
      takeResults()
      log.notice("\(inHand - resolved) notifications have no response yet; they are redelivered")
      close(withinMS: 0, until: RelayClock.monotonic + 2000)
      takeResults()
    } else {
      // Closes gracefully, but with a time limit.
      close(withinMS: 500, until: RelayClock.monotonic + 1000)
    }
    let limit = max(drainUntil, RelayClock.monotonic) + 5000
    while !batch.isEmpty {
      recordIfDue(RelayClock.monotonic, isLast: true)
      if batch.isEmpty || RelayClock.monotonic > limit { break }
      usleep(100_000)
    }
    let lost = batch.entries.reduce(0) { $0 + $1.fresh.count }
    if lost > 0 {
      log.error("\(lost) outcomes are not recorded; their notifications are redelivered")
      orders.withLock { $0.lostOutcomes = lost }
    }
    do {
      try agreement.leave(queue, lease.workerID)
      try recorder?.exchange(at: RelayClock.now, isLast: true)
      try queue.leave(
        lease.workerID, line: "worker \(lease.workerID.number) stopped before the response",
        at: RelayClock.now)
    } catch {
      log.error("the queue: \(error)")
    }
    nextFigures = 0
    show(RelayClock.monotonic)
    problem.standing.leave(at: RelayClock.monotonic, log)
    log.info("ended")
  }

  private func close(withinMS milliseconds: Int32, until limit: Int64) {
    while !session.close(withinMS: milliseconds), RelayClock.monotonic < limit {
      _ = session.process()
      waitForSession(upToMS: 50)
    }
  }

  private func note(_ error: LibraryError?) {
    guard let error else { return }
    problem.note(error, at: RelayClock.monotonic)
    nextFigures = 0
  }

  private func report(_ words: String, _ cause: WorkerProblem.Cause = .other) {
    problem.report(words, cause)
    nextFigures = 0
  }

  private func clear(_ cause: WorkerProblem.Cause) {
    if problem.clear(cause) { nextFigures = 0 }
  }

  private func show(_ now: Int64) {
    guard now >= nextFigures else { return }
    nextFigures = now + 500
    areFiguresOld = false
    problem.standing.look(at: now, log)
    forwarded.isQuiet = problem.standing.words != nil
    figures.isStopped = problem.standing.words != nil
    figures.problem = problem.words
    figures.heard = now
    figures.inHand = inHand
    figures.perSecond = rate?.perSecond
    figures.waitingForRate = tokenTime > 0 ? unsent.count : 0
    figures.remembers = recorder != nil
    figures.guardAlarm = recorder?.alarm
    figures.withheld = recorder?.withheld ?? 0
    figures.session = session.metrics(ofApp: app.name)
    orders.withLock { $0.figures = figures }
  }
}
