/// The limits of notifications a second of an app and of its campaigns. A class, as `UnsentEntries` is.
final class PushRates {
  private let app: AppConfiguration
  private let queue: any QueueEngine
  // No exclusivity checks, as in `HeldEntry`.
  /// The app's `per_second`, shared with other relays; nil without a limit.
  @exclusivity(unchecked) private(set) var ofApp: RateLimit?
  @exclusivity(unchecked) var ofCampaigns = CampaignRates()

  init(_ app: AppConfiguration, _ queue: any QueueEngine) {
    (self.app, self.queue) = (app, queue)
    ofApp = RateLimit(app.limits.perSecond, bucket: RateLimit.ofApp)
  }

  /// Has the limits of these orders from now on. Returns the campaigns that have none any more; nil if
  /// no campaign had or has a limit.
  func follow(_ orders: Orders) -> [String]? {
    let perSecond = orders.perSecond ?? app.limits.perSecond
    if perSecond != ofApp?.perSecond ?? 0 {
      ofApp = RateLimit(perSecond, bucket: RateLimit.ofApp)
    }
    guard !ofCampaigns.isEmpty || !orders.limits.isEmpty else { return nil }
    return ofCampaigns.follow(orders.limits)
  }

  /// Forgets what relays took of this campaign's limit.
  func forget(_ campaign: String) throws {
    try queue.setAppState(OrderStore.bucket(of: campaign), nil, app: app.name)
  }

  /// A new attempt to send.
  func begin() {
    ofApp?.begin()
    if !ofCampaigns.isEmpty { ofCampaigns.begin() }
  }

  /// How many of up to `most` unsent notifications may be sent now, beginning with this bucket's.
  func take(upTo most: Int, of bucket: String, _ unsent: UnsentEntries) throws -> Int {
    var most = most
    if !bucket.isEmpty {
      most = try ofCampaigns.take(
        upTo: min(most, unsent.count(of: bucket)), of: bucket, queue, app: app.name)
    }
    guard most > 0 else { return 0 }
    return try ofApp?.take(upTo: min(most, unsent.count), queue, app: app.name) ?? most
  }

  func use(_ count: Int, of bucket: String) {
    ofApp?.use(count)
    if !bucket.isEmpty { ofCampaigns.use(count, of: bucket) }
  }

  /// Makes entries due of the campaigns of which the worker has little left. True if there were some.
  func refill(_ entries: HeldEntries, lanes: [Lane], _ orders: Orders, at now: Int64) throws -> Bool
  {
    try ofCampaigns.refill(
      queue, app: app.name, lanes: lanes, room: entries.room, entries.unsent,
      except: { orders.campaigns[$0]?.state != nil }, at: now)
  }
}
