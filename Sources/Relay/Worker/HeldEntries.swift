/// The entries that a worker holds, by what they wait for, and its room for more. A class, as
/// `UnsentEntries` is.
final class HeldEntries {
  /// It claims no more than it may send in this time, so that other relays send the rest, and urgent
  /// entries overtake.
  private static let claimedS = 2

  let app: AppConfiguration
  let orders: WorkerOrders
  let rules: DeliveryRules
  let rates: PushRates
  let unsent = UnsentEntries()
  /// Those with something to record. No exclusivity checks, as in `HeldEntry`.
  @exclusivity(unchecked) var batch = OutcomeBatch()
  /// The notifications in hand: their outcomes are not recorded yet.
  private(set) var count = 0
  private var countsOfLanes = ByLane(0)

  init(_ app: AppConfiguration, _ orders: WorkerOrders, _ rules: DeliveryRules, _ rates: PushRates)
  {
    (self.app, self.orders, self.rules, self.rates) = (app, orders, rules, rates)
  }

  // MARK: Room

  /// The most notifications that are not sent yet.
  private var window: Int {
    rates.ofApp.map { min(app.limits.window, $0.perSecond * Self.claimedS) } ?? app.limits.window
  }

  /// How many notifications it may claim. Entries that wait for the limit of their campaign take no room.
  var room: Int {
    let paced = unsent.countInBuckets
    let room = app.limits.window - count + paced
    return rates.ofApp == nil ? room : min(room, window - unsent.count + paced)
  }

  /// Whether there is room for a quarter of the window, so that a claim is worth its transaction.
  var hasRoom: Bool { room >= max(1, window / 4) }

  /// How many notifications of a lane it may claim beyond the window, because it has few of them.
  func room(of lane: Lane) -> Int {
    max(1, window / Lane.share) - (countsOfLanes[lane] - unsent.countsOfLanes[lane])
  }

  /// All wait for the limits of their campaigns.
  var arePaced: Bool { count == unsent.countInBuckets }

  /// When it may send again what it has (monotonic); 0 if it waits for no token. Until then it needs
  /// no other entries, not even urgent ones.
  var tokenTime: Int64 { unsent.isEmpty ? 0 : rates.ofApp?.waitsUntil ?? 0 }

  /// When something is due to be recorded or sent (monotonic).
  var next: Int64 {
    min(
      batch.isEmpty ? .max : batch.due, tokenTime > 0 ? tokenTime : .max,
      rates.ofCampaigns.waitsUntil(with: unsent) ?? .max)
  }

  // MARK: Entries

  func add(_ held: HeldEntry) { count(held.unresolved + held.fresh.count, of: held) }

  private func count(_ number: Int, of held: HeldEntry) {
    count += number
    countsOfLanes[held.lane] += number
  }

  /// Keeps an entry to send it. False if it waits in the queue for the limit of its campaign.
  @discardableResult
  func keep(_ held: HeldEntry) -> Bool {
    if !rates.ofCampaigns.isEmpty {
      held.bucket =
        held.entry.content.campaign.flatMap { rates.ofCampaigns.limits($0) ? $0 : nil } ?? ""
      let isKept =
        held.bucket.isEmpty || held.entry.crashes >= CrashGroup.apart
        || rates.ofCampaigns.keeps(
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
  func giveBack(_ held: HeldEntry) {
    held.isCut = true
    held.returnsAt = held.bucket.isEmpty ? nil : PacedTime.of(held.bucket)
    settle(held)
  }

  /// Returns what is not sent: the relay stops, or the lease has expired.
  func giveBackUnsent() {
    for held in unsent.removeAll() { giveBack(held) }
  }

  /// Ends what is not sent of an entry, or lets it wait, as the orders say. False if it is sent.
  @discardableResult
  func stop(_ held: HeldEntry) -> Bool {
    guard held.disposition == nil else { return false }
    switch orders.current.state(of: held.entry.content) {
    case nil: return false
    case .cancelled: held.cancel()
    case .paused: (held.isCut, held.isPaused) = (true, true)
    }
    return true
  }

  /// Leaves to the batch what an entry has to record.
  func settle(_ held: HeldEntry) {
    if held.isPaused { held.isPaused = orders.current.state(of: held.entry.content) == .paused }
    if let due = held.returnsAt, PacedTime.times.contains(due),
      !rates.ofCampaigns.limits(held.bucket)
    {
      held.returnsAt = nil
    }
    held.settle(rules, now: RelayClock.now)
    guard !held.fresh.isEmpty || held.disposition != nil else { return }
    batch.add(held)
  }

  /// The queue has these updates, which are those of the batch.
  func forgetRecorded(_ updates: [EntryUpdate]) {
    for (index, held) in batch.entries.enumerated() {
      count(-held.fresh.count, of: held)
      held.fresh.removeAll()
      held.isChanged = false
      switch updates[index].disposition {
      case .held, .finished: break
      default: count(-held.unresolved, of: held)
      }
    }
    batch.clear()
  }
}
