/// What an operator does with a campaign or an app. Commands and the status page share it.
extension OrderStore {
  private static func demandSending(_ campaign: String, _ orders: Orders) throws {
    if orders.campaigns[campaign]?.state == .cancelled {
      throw RelayFault("\(campaign) is cancelled")
    }
  }

  /// Pauses a campaign, or the app.
  package func pause(_ campaign: String?, at now: Int64) throws {
    try change { orders in
      guard let campaign else { return orders.isPaused = true }
      try Self.demandSending(campaign, orders)
      orders.set(.paused, of: campaign, at: now)
    }
  }

  /// Resumes a campaign, or the app.
  package func resume(_ campaign: String?, at now: Int64) throws {
    let orders = try change { orders in
      guard let campaign else { return orders.isPaused = false }
      try Self.demandSending(campaign, orders)
      if orders.campaigns[campaign]?.state != nil { orders.set(nil, of: campaign, at: now) }
    }
    if campaign != nil { try advance(by: orders, at: now) }
  }

  /// Workers carry it out. Returns the orders, by which waiting entries have to be advanced.
  @discardableResult
  package func cancel(_ campaign: String, at now: Int64) throws -> Orders {
    try change { $0.set(.cancelled, of: campaign, at: now) }
  }

  /// The most notifications of a campaign, or of the app, in a second; nil for no limit.
  package func limit(_ campaign: String?, to perSecond: Int?, at now: Int64) throws {
    let orders = try change { orders in
      guard let campaign else { return orders.perSecond = perSecond }
      try Self.demandSending(campaign, orders)
      if orders.campaigns[campaign]?.perSecond != perSecond {
        orders.set(perSecond: perSecond, of: campaign, at: now)
      }
    }
    if campaign != nil { try advance(by: orders, at: now) }
  }
}
