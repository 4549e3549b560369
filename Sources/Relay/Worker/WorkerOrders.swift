/// The operator's orders, as a worker last read them. A class, because several parts of it use them.
final class WorkerOrders {
  /// How often a worker reads them, see `OrderStore.knownMS`.
  private static let readMS: Int64 = 500
  /// How often it looks for entries that wait though they are cancelled, or not paused or limited any
  /// more: producers add more, and a worker that was suspended may return them by older orders, and end.
  private static let advanceMS: Int64 = 5000
  /// For this long after an order, in milliseconds.
  private static let advancedMS: Int64 = 600_000

  private let store: OrderStore
  private var text: String?
  private var nextRead: Int64 = 0
  private var nextAdvance: Int64?
  private var advancesUntil: Int64 = 0
  private(set) var current = Orders()
  /// Whether some entries are not sent.
  private(set) var stopsAny = false

  init(_ queue: any AppStateStore & CampaignStore, app: String) {
    store = OrderStore(queue, app: app)
  }

  func isDue(at now: Int64) -> Bool { now >= nextRead }
  /// When it has work next, after news of this time.
  func next(after news: Int64) -> Int64 {
    min(max(nextAdvance ?? .max, nextRead), nextRead - Self.readMS < news ? nextRead : .max)
  }
  /// Whether waiting entries do not follow the orders yet.
  func hasToAdvance(at now: Int64) -> Bool { nextAdvance.map { now >= $0 } ?? false }

  /// Whether entries wait that are cancelled.
  var endsAny: Bool {
    nextAdvance != nil
      && (!current.cancelledIDs.isEmpty
        || current.campaigns.values.contains { $0.state == .cancelled })
  }

  /// True if they have changed.
  func read(at now: Int64) throws -> Bool {
    nextRead = now + Self.readMS
    let text: String?
    do { text = try store.text() } catch {
      // Each attempt may wait for the queue.
      nextRead = RelayClock.monotonic + Self.readMS
      throw error
    }
    guard text != self.text else { return false }
    current = try Orders(text: text, app: store.app)
    stopsAny = current.stopsAny
    self.text = text
    advancesUntil = now + Self.advancedMS
    nextAdvance = current.cancelledIDs.isEmpty ? now : RelayClock.monotonic + OrderStore.knownMS
    return true
  }

  /// Makes waiting entries follow the orders.
  func advance(at now: Int64, _ clock: Int64) throws {
    nextAdvance = now + Self.advanceMS
    try store.advance(by: current, ids: current.cancelledIDs, at: clock)
    try store.forgetDoneIDs(current)
    let isRecent = current.campaigns.values.contains {
      $0.state == .cancelled && clock - $0.changed < Self.advancedMS
    }
    if !isRecent, now >= advancesUntil, current.cancelledIDs.isEmpty { nextAdvance = nil }
  }
}
