/// What a queue knows of its campaigns, and how their entries stop waiting.
package protocol CampaignStore: AnyObject, Sendable {
  /// The outcomes of each campaign of an app. An outcome counts once, in the transaction that records
  /// it.
  func campaignOutcomes(app: String) throws -> [String: CampaignOutcomes]
  /// Notifications without an outcome, by campaign; "" is for entries without one. A campaign without entries
  /// is missing. Read-only.
  func left(_ choice: EntryChoice, app: String) throws -> [String: EntriesLeft]
  /// Makes entries due now, in queue order: the cancelled ones, whatever time they wait for, and
  /// those that wait because of a pause (`PausedTime`), except of campaigns that still are `paused`.
  /// Entries that wait for an earlier one of their device stay. Returns their number.
  func advance(
    app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
  ) throws -> Int
  /// Whether a running worker of this app sent a heartbeat since this time. Read-only.
  func isServed(_ app: String, since time: Int64) throws -> Bool
}

/// The entries of a campaign, of any campaign, or a single one.
package enum EntryChoice: Equatable, Sendable {
  case campaign(String)
  case campaigns
  case id(String)
}

/// The outcomes of a campaign so far, in devices.
package struct CampaignOutcomes: Equatable, Sendable {
  package var counts: [PushOutcome.Kind: Int] = [:]
  /// When the last one was recorded, in UNIX milliseconds.
  package var changed: Int64 = 0

  package init() {}
}

/// Entries, and their devices without an outcome.
package struct EntriesLeft: Equatable, Sendable {
  package struct Count: Equatable, Sendable {
    package var entries = 0
    package var devices = 0
  }

  /// No worker holds them.
  package var waiting = Count()
  package var held = Count()

  package init() {}
}

extension [EntryUpdate] {
  /// The numbers of outcomes by campaign and kind, in a fixed order.
  func outcomesOfCampaigns() -> [(campaign: String, kind: PushOutcome.Kind, count: Int)] {
    var counts: [String: [PushOutcome.Kind: Int]] = [:]
    for update in self {
      guard let campaign = update.campaign else { continue }
      update.forEachOutcome { counts[campaign, default: [:]][$0.pointee.kind, default: 0] += 1 }
    }
    return counts.flatMap { campaign, kinds in kinds.map { (campaign, $0.key, $0.value) } }
  }
}
