/// What a queue knows of its campaigns, and how their entries stop waiting.
package protocol CampaignStore: AnyObject, Sendable {
  /// The outcomes of each campaign of an app. An outcome counts once, in the transaction that records
  /// it.
  func campaignOutcomes(app: String) throws -> [String: CampaignOutcomes]
  /// Notifications without an outcome, by campaign; "" is for entries without one. A campaign without entries
  /// is missing. Read-only.
  func left(_ choice: EntryChoice, app: String) throws -> [String: EntriesLeft]
  /// Makes entries due now, in queue order: the cancelled ones, with any due time, and
  /// those that wait because of a pause (`PausedTime`), except of campaigns that still are `paused`.
  /// Entries that wait for an earlier one of their device stay. Returns their number.
  func advance(
    app: String, cancelled: [EntryChoice], paused: Set<String>, at now: Int64
  ) throws -> Int
  /// Makes entries due now, in queue order, that wait for the limit of a campaign (`PacedTime`): the
  /// first ones of these lanes. Returns their number.
  func advance(limited campaign: String, app: String, lanes: [Lane], upTo count: Int) throws -> Int
  /// Makes all those due whose campaign is none of the `limited` ones. Returns their number.
  func advance(app: String, exceptLimited limited: Set<String>) throws -> Int
}

/// The entries of a campaign, of any campaign, or a single one.
package enum EntryChoice: Equatable, Sendable {
  case campaign(String)
  case campaigns
  case id(String)
  /// Also those without a campaign.
  case all
}

/// The outcomes of a campaign so far, in devices.
package struct CampaignOutcomes: Equatable, Sendable {
  package var counts: [PushOutcome.Kind: Int] = [:]
  /// The rejected ones by reason. Relays before 0.2.0 did not count them.
  package var reasons: [String: Int] = [:]
  /// The rejected ones of gone devices (410).
  package var gone = 0
  /// When the last one was recorded, in UNIX milliseconds.
  package var changed: Int64 = 0

  package init() {}

  /// All devices with an outcome.
  var total: Int { counts.values.reduce(0, +) }

  mutating func add(_ what: CampaignCount, _ count: Int) {
    switch what {
    case .kind(let kind): counts[kind, default: 0] += count
    case .reason(let reason): reasons[reason, default: 0] += count
    case .gone: gone += count
    }
  }
}

/// The counts that a queue keeps for a campaign.
package enum CampaignCount: Hashable, Sendable {
  case kind(PushOutcome.Kind)
  case reason(String)
  case gone

  private static let reasonMark = "rejected:"
  private static let longestReason = 64

  /// Its name in the queue, without a space. nil for a name that a later relay wrote.
  init?(text: String) {
    if let kind = PushOutcome.Kind(rawValue: text) {
      self = .kind(kind)
    } else if text.hasPrefix(Self.reasonMark) {
      self = .reason(String(text.dropFirst(Self.reasonMark.count)))
    } else if text == "gone" {
      self = .gone
    } else {
      return nil
    }
  }

  var text: String {
    switch self {
    case .kind(let kind): kind.rawValue
    case .reason(let reason): Self.reasonMark + reason
    case .gone: "gone"
    }
  }

  /// A reason is one word of letters; anything else that a service sends counts as "other".
  static func rejection(for reason: String) -> Self {
    let isWord =
      (1...longestReason).contains(reason.utf8.count)
      && reason.utf8.allSatisfy { $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A }
    return .reason(isWord ? reason : "other")
  }
}

extension PushOutcome {
  /// Calls `count` for everything as which it counts for its campaign.
  @inline(__always)
  package func forEachCount(_ count: (CampaignCount) -> Void) {
    count(.kind(kind))
    guard kind == .rejected else { return }
    count(.rejection(for: reason))
    if httpStatus == 410 { count(.gone) }
  }
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
  /// When the entry chosen by its ID is due, in UNIX milliseconds; 0 if now, or if it is held.
  package var due: Int64 = 0

  package init() {}

  /// The entry waits for a time that a producer or a response gave, not for a pause or an earlier
  /// entry.
  package func isLater(than now: Int64) -> Bool { due > now && due < PausedTime.due }
}

extension [EntryUpdate] {
  /// The numbers of outcomes by campaign, in a fixed order.
  func outcomesOfCampaigns() -> [(campaign: String, what: CampaignCount, count: Int)] {
    var counts: [String: [CampaignCount: Int]] = [:]
    // In their place, because a copy would retain all of their strings.
    for place in indices {
      guard let campaign = self[place].campaign else { continue }
      // Most are accepted, so that count is updated once.
      var accepted = 0
      self[place].forEachOutcome { outcome in
        if outcome.pointee.kind == .accepted {
          accepted += 1
        } else {
          outcome.pointee.forEachCount { counts[campaign, default: [:]][$0, default: 0] += 1 }
        }
      }
      if accepted > 0 {
        counts[campaign, default: [:]][.kind(.accepted), default: 0] += accepted
      }
    }
    return counts.flatMap { campaign, all in all.map { (campaign, $0.key, $0.value) } }
  }
}
