/// Claims entries for a worker, as many as it has room for.
final class EntryClaims {
  private let queue: any QueueEngine
  private let lease: WorkerLease
  private let membership: WorkerMembership
  private let session: ServiceSession
  private let restrictions: EntryRestrictions
  private let entries: HeldEntries
  private let recorder: OutcomeRecorder
  private let times: ClaimTimes
  private let report: WorkerReport
  /// The worker holds suspects of crashes, and gets no other entries.
  private var hasSuspects = false
  /// Entries wait, and APNs is not reached yet.
  private(set) var wantsConnection = false

  init(
    _ queue: any QueueEngine, _ lease: WorkerLease, _ membership: WorkerMembership,
    _ session: ServiceSession, _ restrictions: EntryRestrictions, _ entries: HeldEntries,
    _ recorder: OutcomeRecorder, _ times: ClaimTimes, _ report: WorkerReport
  ) {
    (self.queue, self.lease, self.membership, self.session) = (queue, lease, membership, session)
    (self.restrictions, self.entries, self.recorder) = (restrictions, entries, recorder)
    (self.times, self.report) = (times, report)
  }

  private var orders: WorkerOrders { entries.orders }

  // MARK: Times

  /// Whether no other event must come before a claim.
  private var canClaim: Bool {
    // What it has not recorded may be in the queue again: if it claimed that, the old record would
    // return the new delivery.
    entries.batch.retryAt == 0 && membership.mayClaim && (!hasSuspects || entries.count == 0)
      && !orders.current.isPaused
  }

  /// When it may claim (monotonic); nil if another event must come first.
  private var claimTime: Int64? {
    guard canClaim, entries.hasRoom else { return nil }
    return max(times.nextClaim, earliest)
  }

  private var earliest: Int64 {
    max(entries.count > 0 ? times.finishesUntil : 0, entries.tokenTime)
  }

  /// When it claims or looks for other lanes next (monotonic); `.max` if another event must come first.
  var next: Int64 {
    guard canClaim else { return .max }
    return min(claimTime ?? .max, entries.count > 0 ? max(times.nextLook, earliest) : .max)
  }

  /// When it looks next for entries that wait for the limits of their campaigns.
  var nextRefill: Int64 {
    guard canClaim, !entries.rates.ofCampaigns.isEmpty else { return .max }
    return entries.rates.ofCampaigns.nextLook { orders.current.campaigns[$0]?.state != nil }
  }

  // MARK: Claims

  /// Gets more of the limited campaigns of which it has little left.
  func refill(_ now: Int64) {
    // Without a connection it needs some to be due, so that it connects.
    guard !entries.rates.ofCampaigns.isEmpty, entries.hasRoom, canClaim, now >= earliest,
      session.isReached() || !wantsConnection
    else { return }
    do {
      if try entries.rates.refill(entries, lanes: restrictions.lanes, orders.current, at: now) {
        times.nextClaim = now
      }
    } catch {
      fail(error, now)
    }
  }

  func claim(_ now: Int64) {
    if wantsConnection, session.isReached() { times.claim(by: now) }
    guard let claimTime, now >= claimTime else { return }
    do {
      guard session.isReached() else { return try reach(now) }
      wantsConnection = false
      let count = try claim(restrictions.lanes, room: entries.room)
      times.nextClaim = count == 0 ? try lookAgain(now) : now
      report.clear(.claiming)
    } catch {
      fail(error, now)
    }
  }

  /// If it has few entries of a lane, claims more of them, beyond the window: a window full of one
  /// lane must not delay the others.
  func lookForOthers(_ now: Int64) {
    guard entries.count > 0, canClaim, now >= max(times.nextLook, earliest) else { return }
    times.looked(at: now, arePaced: entries.arePaced)
    if !session.isReached() { return }
    if claimTime != nil {
      // It takes the urgent ones first. If the window has room afterwards, no others wait.
      times.nextClaim = now
      claim(now)
      guard claimTime == nil else { return }
    }
    let lanes = restrictions.lanes.filter { entries.room(of: $0) > 0 }
    do {
      // One after the other, because each has its own room.
      for lane in lanes where canClaim { _ = try claim([lane], room: entries.room(of: lane)) }
      report.clear(.claiming)
    } catch {
      fail(error, now)
    }
  }

  private func fail(_ error: any Error, _ now: Int64) {
    report.failed(error, .claiming)
    times.fail(at: now)
  }

  /// Connects before the first claim, so that an entry counts a delivery only if it can be sent,
  /// and other relays may claim it until then.
  private func reach(_ now: Int64) throws {
    if !wantsConnection {
      wantsConnection = try queue.isAnythingThere(app: entries.app.name, at: RelayClock.now)
      report.clear(.claiming)
    }
    times.nextClaim = wantsConnection ? now + ClaimTimes.lookAgainMS : try lookAgain(now)
    if wantsConnection { report.note(session.connect()) }
  }

  /// When to look again if there was nothing to claim: at the next due time, because there are news of
  /// anything else.
  private func lookAgain(_ now: Int64) throws -> Int64 {
    guard times.hasWatch, entries.count == 0 else { return now + ClaimTimes.lookAgainMS }
    let clock = RelayClock.now
    guard let due = try queue.nextDue(app: entries.app.name, lanes: restrictions.lanes, at: clock)
    else { return .max }
    return now + max(due - clock, ClaimTimes.lookAgainMS)
  }

  /// Claims entries, and returns their number.
  private func claim(_ lanes: [Lane], room: Int) throws -> Int {
    var given = try queue.claim(
      lease.workerID, lanes: lanes, room: room, inOrder: entries.app.keepOrder == .device,
      isFree: entries.arePaced, at: RelayClock.now)
    // The last one first. Moved and not copied, because a copy would retain all of its strings.
    var claimed: [HeldEntry] = []
    claimed.reserveCapacity(given.count)
    while let entry = given.popLast() { claimed.append(HeldEntry(entry)) }
    hasSuspects = claimed.contains { $0.entry.crashes >= CrashGroup.apart }
    // After the claim, because a campaign that was cancelled before it is not sent.
    var blindness: (any Error)?
    if claimed.contains(where: { $0.entry.content.campaign != nil })
      || !claimed.isEmpty && orders.isDue(at: RelayClock.monotonic)
    {
      do { try restrictions.followOrders(RelayClock.monotonic) } catch { blindness = error }
    }
    // A crash must not be blamed on others.
    var hasStopped = hasSuspects && !entries.unsent.isEmpty
    if hasSuspects { entries.giveBackUnsent() }
    for held in claimed.reversed() {
      hasStopped = take(held, isBlind: blindness != nil) || hasStopped
    }
    if orders.current.isPaused { entries.giveBackUnsent() }
    if hasStopped { recorder.recordIfDue(RelayClock.monotonic, isLast: true) }
    if let blindness { throw blindness }
    return claimed.count
  }

  /// True if it is not kept, such as by orders. With `isBlind` they are unknown, and a campaign's entry
  /// is returned.
  private func take(_ held: HeldEntry, isBlind: Bool) -> Bool {
    report.figures.claimed += 1
    entries.add(held)
    if isBlind, held.entry.content.campaign != nil { held.isCut = true }
    let isStopped = held.isCut || orders.stopsAny && entries.stop(held)
    if isStopped || entries.rules.refuses(held, now: RelayClock.now) || held.unresolved == 0 {
      entries.settle(held)
      return isStopped
    }
    if let quietUntil = restrictions.quietUntil, held.lane == .bulk {
      // It was in a crash, or another one was cancelled.
      held.isCut = true
      held.returnsAt = ParkedTime.of(quietUntil * 1000, isGuess: false)
      entries.settle(held)
      return true
    }
    return !entries.keep(held)
  }
}
