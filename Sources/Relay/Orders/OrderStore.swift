/// The orders of an app in a queue.
package struct OrderStore: Sendable {
  private static let name = "orders"
  /// The name of a campaign's bucket for its limit.
  static func bucket(of campaign: String) -> String { "rate of \(campaign)" }

  package let queue: any AppStateStore & CampaignStore
  package let app: String

  package init(_ queue: any AppStateStore & CampaignStore, app: String) {
    (self.queue, self.app) = (queue, app)
  }

  /// nil without orders.
  func text() throws -> String? { try queue.appState(Self.name, app: app) }

  package func read() throws -> Orders { try Orders(text: text(), app: app) }

  /// Changes the orders by `act`, which is repeated if others change them at the same time. Returns
  /// the new ones.
  @discardableResult
  package func change(_ act: (inout Orders) throws -> Void) throws -> Orders {
    while true {
      let old = try text()
      let before = try Orders(text: old, app: app)
      var orders = before
      try act(&orders)
      if orders == before { return orders }
      orders.generation = before.generation + 1
      guard try queue.replaceAppState(Self.name, old, by: orders.text, app: app) else { continue }
      // A worker that does not know it yet writes its bucket again, and removes that as soon as it does.
      for campaign in before.limits.keys where orders.limits[campaign] == nil {
        try queue.setAppState(Self.bucket(of: campaign), nil, app: app)
      }
      return orders
    }
  }

  /// So long after the order to cancel a single entry all workers know it, in milliseconds. Before
  /// that one of them would send the entry if it was due.
  package static let knownMS: Int64 = 1000

  /// Lets entries wait no longer whose campaigns the orders cancel, or do not pause or limit any more,
  /// and these cancelled ones.
  @discardableResult
  package func advance(by orders: Orders, ids: Set<String> = [], at now: Int64) throws -> Int {
    let count = try queue.advance(app: app, exceptLimited: Set(orders.limits.keys))
    return try count
      + queue.advance(
        app: app,
        cancelled: orders.campaigns(.cancelled).sorted().map { .campaign($0) }
          + ids.sorted().map { .id($0) },
        paused: orders.campaigns(.paused), at: now)
  }

  /// Forgets the cancelled IDs of which nothing is left.
  func forgetDoneIDs(_ orders: Orders) throws {
    let done = try orders.cancelledIDs.filter { try queue.left(.id($0), app: app).isEmpty }
    if !done.isEmpty { try change { $0.cancelledIDs.subtract(done) } }
  }

  /// Forgets campaigns that were cancelled or limited before this time, and of which nothing is left,
  /// limited ones with their last outcome. Returns their number.
  func forgetOld(before time: Int64) throws -> Int {
    let outcomes = try queue.campaignOutcomes(app: app)
    let old = try read().campaigns.filter {
      $0.value.changed < time
        && ($0.value.state == .cancelled || $0.value.state == nil && outcomes[$0.key] == nil)
    }
    let done = try old.keys.filter { try queue.left(.campaign($0), app: app).isEmpty }
    guard !done.isEmpty else { return 0 }
    try change { orders in
      for campaign in done where orders.campaigns[campaign] == old[campaign] {
        orders.campaigns[campaign] = nil
      }
    }
    return done.count
  }
}
