import Foundation

/// What the operator wants of an app, for all relays on the queue. It is one value there, so that each
/// engine keeps it. The commands change it, and the workers carry it out.
package struct Orders: Equatable, Sendable {
  package struct Campaign: Equatable, Sendable {
    package enum State: String, Codable, Sendable { case paused, cancelled }

    /// nil while it is sent.
    package var state: State?
    /// The most notifications in a second; nil without a limit.
    package var perSecond: Int?
    /// When it was changed, in UNIX milliseconds.
    package var changed: Int64 = 0
  }

  /// The valid limits, for apps too.
  package static let perSecond = 1...100_000

  /// It grows with each change.
  package var generation: Int64 = 0
  /// The whole app is paused.
  package var isPaused = false
  package var perSecond: Int?
  package var campaigns: [String: Campaign] = [:]
  /// The IDs of single entries.
  package var cancelledIDs: Set<String> = []

  package init() {}

  /// Whether some entries are not sent.
  package var stopsAny: Bool {
    !cancelledIDs.isEmpty || campaigns.values.contains { $0.state != nil }
  }

  package func state(of entry: NewEntry) -> Campaign.State? {
    if cancelledIDs.contains(entry.id) { return .cancelled }
    return entry.campaign.flatMap { campaigns[$0]?.state }
  }

  package func campaigns(_ state: Campaign.State) -> Set<String> {
    Set(campaigns.lazy.filter { $0.value.state == state }.map(\.key))
  }

  /// The limits of campaigns that are not cancelled.
  package var limits: [String: Int] {
    campaigns.compactMapValues { $0.state == .cancelled ? nil : $0.perSecond }
  }

  package mutating func set(_ state: Campaign.State?, of campaign: String, at now: Int64) {
    change(campaign, at: now) { $0.state = state }
  }

  package mutating func set(perSecond: Int?, of campaign: String, at now: Int64) {
    change(campaign, at: now) { $0.perSecond = perSecond }
  }

  private mutating func change(
    _ campaign: String, at now: Int64, _ act: (inout Campaign) -> Void
  ) {
    var one = campaigns[campaign] ?? Campaign()
    act(&one)
    one.changed = now
    campaigns[campaign] = one.state == nil && one.perSecond == nil ? nil : one
  }
}

extension Orders.Campaign: Codable {
  private enum CodingKeys: String, CodingKey {
    case state, changed
    case perSecond = "per_second"
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    state = try values.decodeIfPresent(Orders.Campaign.State.self, forKey: .state)
    perSecond = try values.decodeIfPresent(Int.self, forKey: .perSecond)
    changed = try values.decodeIfPresent(Int64.self, forKey: .changed) ?? 0
  }
}

extension Orders: Codable {
  private enum CodingKeys: String, CodingKey {
    case generation, campaigns
    case isPaused = "paused"
    case perSecond = "per_second"
    case cancelledIDs = "cancelled_ids"
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    generation = try values.decode(Int64.self, forKey: .generation)
    isPaused = try values.decodeIfPresent(Bool.self, forKey: .isPaused) ?? false
    perSecond = try values.decodeIfPresent(Int.self, forKey: .perSecond)
    campaigns = try values.decodeIfPresent([String: Campaign].self, forKey: .campaigns) ?? [:]
    cancelledIDs = try values.decodeIfPresent(Set<String>.self, forKey: .cancelledIDs) ?? []
  }

  /// nil stands for no orders.
  init(text: String?, app: String) throws {
    guard let text else { return }
    do {
      self = try JSONDecoder().decode(Orders.self, from: Data(text.utf8))
    } catch {
      throw RelayFault("the orders of \(app) in the queue are unreadable: \(text.prefix(200))")
    }
  }

  var text: String { get throws { try EncodedJSON.of(self) } }
}
