/// The orders of an app in a queue.
package struct OrderStore: Sendable {
  private static let name = "orders"

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
      if try queue.replaceAppState(Self.name, old, by: orders.text, app: app) { return orders }
    }
  }

  /// So long after the order to cancel a single entry all workers know it, in milliseconds. Before
  /// that one of them would send the entry if it was due.
  package static let knownMS: Int64 = 1000

  /// Lets entries wait no longer whose campaigns the orders cancel, or do not pause any more, and
  /// these cancelled ones.
  @discardableResult
  package func advance(by orders: Orders, ids: Set<String> = [], at now: Int64) throws -> Int {
    try queue.advance(
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

  /// Forgets campaigns that were cancelled before this time, and of which nothing is left. Returns
  /// their number.
  func forgetCancelled(before time: Int64) throws -> Int {
    let old = try read().campaigns.filter {
      $0.value.state == .cancelled && $0.value.changed < time
    }
    let done = try old.keys.filter { try queue.left(.campaign($0), app: app).isEmpty }
    guard !done.isEmpty else { return 0 }
    try change { orders in
      for campaign in done where orders.campaigns[campaign] == old[campaign] {
        orders.set(nil, of: campaign, at: time)
      }
    }
    return done.count
  }
}
