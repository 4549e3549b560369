/// The campaigns of an app that have a `per_second`, as one worker sends them. It holds no more of
/// each than it may send in a short time. The rest waits in the queue (`PacedTime`), so that slow
/// campaigns do not fill the worker's window.
struct CampaignRates {
  private struct Campaign {
    var rate: RateLimit
    /// Takes entries until it has enough, so that those that wait in the queue stay before later ones.
    var isTaking = true
    /// The notifications of its last entry.
    var size = NewEntry.mostTokens
    /// Looks for entries that wait in the queue from this time on (monotonic).
    var nextLook: Int64 = 0
    /// Without entries it looks again after this time.
    var pauseMS = firstPauseMS

    /// The most notifications that it holds. An entry that it gets at half of it may have more.
    var most: Int { rate.perSecond * CampaignRates.heldS }
  }

  /// It holds as many notifications as are sent in this time.
  private static let heldS = 2
  private static let firstPauseMS: Int64 = 500
  private static let longestPauseMS: Int64 = 8000
  /// After it found some: others may have claimed them.
  private static let lookMS: Int64 = 10
  /// The most entries of a transaction.
  private static let batch = 1000

  private var campaigns: [String: Campaign] = [:]

  var isEmpty: Bool { campaigns.isEmpty }
  func limits(_ campaign: String) -> Bool { campaigns[campaign] != nil }

  /// Has these limits from now on, and returns the campaigns that lost theirs. The worker asks
  /// again for each entry whether it keeps that.
  mutating func follow(_ limits: [String: Int]) -> [String] {
    let ended = campaigns.keys.filter { limits[$0] == nil }
    for campaign in ended { campaigns[campaign] = nil }
    for (campaign, perSecond) in limits {
      if campaigns[campaign]?.rate.perSecond == perSecond {
        campaigns[campaign]?.isTaking = true
      } else if let rate = RateLimit(perSecond, bucket: OrderStore.bucket(of: campaign)) {
        campaigns[campaign] = Campaign(rate: rate)
      }
    }
    return ended
  }

  /// Whether the worker keeps an entry with this many notifications, while it has `held` of its
  /// campaign.
  mutating func keeps(_ count: Int, of campaign: String, having held: Int) -> Bool {
    guard var one = campaigns[campaign] else { return true }
    defer { campaigns[campaign] = one }
    one.isTaking = one.isTaking && (held <= one.most / 2 || held + count <= one.most)
    if one.isTaking {
      one.size = max(1, count)
    } else {
      (one.nextLook, one.pauseMS) = (0, Self.firstPauseMS)
    }
    return one.isTaking
  }

  /// Makes entries due of the campaigns of which the worker has little, up to `room` notifications of
  /// each. True if there were some.
  mutating func refill(
    _ queue: any CampaignStore, app: String, lanes: [Lane], room: Int, _ unsent: UnsentEntries,
    except isStopped: (String) -> Bool, at now: Int64
  ) throws -> Bool {
    var hasSome = false
    for (campaign, one) in campaigns where now >= one.nextLook && !isStopped(campaign) {
      let held = unsent.count(of: campaign)
      guard held <= one.most / 2 else { continue }
      var one = one
      one.isTaking = true
      one.nextLook = now + one.pauseMS
      // Before a failure too.
      campaigns[campaign] = one
      let count = min(max(1, min(one.most - held, room) / one.size), Self.batch)
      let found = try queue.advance(limited: campaign, app: app, lanes: lanes, upTo: count)
      one.pauseMS = found > 0 ? Self.firstPauseMS : min(2 * one.pauseMS, Self.longestPauseMS)
      if found > 0 { one.nextLook = now + Self.lookMS }
      campaigns[campaign] = one
      hasSome = hasSome || found > 0
    }
    return hasSome
  }

  /// When it looks for entries next, if the worker has none.
  func nextLook(except isStopped: (String) -> Bool) -> Int64 {
    campaigns.filter { !isStopped($0.key) }.map(\.value.nextLook).min() ?? .max
  }

  /// A new attempt to send.
  mutating func begin() {
    for campaign in campaigns.keys { campaigns[campaign]?.rate.begin() }
  }

  /// When it may send again what it has (monotonic); nil if it waits for no token.
  func waitsUntil(with unsent: UnsentEntries) -> Int64? {
    campaigns.lazy.filter { $0.value.rate.waitsUntil > 0 && unsent.count(of: $0.key) > 0 }
      .map(\.value.rate.waitsUntil).min()
  }

  mutating func take(
    upTo wanted: Int, of campaign: String, _ queue: any AppStateStore, app: String
  ) throws -> Int {
    try campaigns[campaign]?.rate.take(upTo: wanted, queue, app: app) ?? wanted
  }

  mutating func use(_ count: Int, of campaign: String) { campaigns[campaign]?.rate.use(count) }
}
