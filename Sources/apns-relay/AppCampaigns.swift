import ArgumentParser
import Foundation
import Relay

/// A command about the campaigns of an app.
protocol CampaignCommand: ParsableCommand {
  var options: QueueOptions { get }
  func run(_ campaigns: AppCampaigns) throws
}

extension CampaignCommand {
  func run() throws {
    try RelayCommand.refusing {
      let (queue, app) = try options.place()
      try run(
        AppCampaigns(app: app, queue: try queue.open(), leaseMS: Int64(queue.leaseS * 1000)))
    }
  }
}

/// The campaigns of an app in its queue.
struct AppCampaigns {
  let app: String
  let queue: any QueueEngine
  let leaseMS: Int64

  /// A restart of a relay may take this long.
  private static let restartS = 3.0

  var store: OrderStore { OrderStore(queue, app: app) }
  var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
  /// Whether a relay serves the app now.
  var isServed: Bool { get throws { try queue.isServed(app, withinMS: leaseMS, at: now) } }

  func all() throws -> [CampaignReport] { try reports(.campaigns) }

  /// The known campaigns, with what is left of the chosen ones.
  private func reports(_ choice: EntryChoice) throws -> [CampaignReport] {
    let (orders, outcomes) = (try store.read(), try queue.campaignOutcomes(app: app))
    let left = try queue.left(choice, app: app)
    return Set(orders.campaigns.keys).union(outcomes.keys).union(left.keys).sorted().map { name in
      CampaignReport(
        name, orders.campaigns[name], left[name] ?? EntriesLeft(),
        outcomes[name] ?? CampaignOutcomes())
    }
  }

  /// Refuses a campaign that the queue does not know.
  func report(of campaign: String) throws -> CampaignReport {
    guard let report = try knownReport(of: campaign) else {
      throw RelayCommand.refusal(
        "\(app) has no campaign '\(campaign)'; apns-relay list shows its campaigns")
    }
    return report
  }

  /// nil if the queue does not know the campaign.
  func knownReport(of campaign: String) throws -> CampaignReport? {
    try reports(.campaign(campaign)).first { $0.campaign == campaign }
  }

  func left(of id: String) throws -> EntriesLeft? {
    try queue.left(.id(id), app: app).values.first
  }

  /// Calls `isDone` until it is true, in pauses that leave the queue to others. False if no relay
  /// serves the app.
  func wait(_ isDone: () throws -> Bool) throws -> Bool {
    var unservedSince: Date?
    while true {
      let began = Date()
      if try isDone() { return true }
      if try isServed {
        unservedSince = nil
      } else if let since = unservedSince {
        if began.timeIntervalSince(since) >= Self.restartS { return false }
      } else {
        unservedSince = began
      }
      Thread.sleep(forTimeInterval: max(0.1, 4 * Date().timeIntervalSince(began)))
    }
  }

  /// Says that no relay carries out an order now.
  func noted(_ what: String) -> ExitCode {
    print(
      "\(what): no relay serves \(app) now; the order is noted, and carried out when one starts")
    return ExitCode(1)
  }
}

/// The orders for a whole app, as the commands show them.
struct AppReport: Encodable {
  var app: String
  var paused: Bool
  /// The limit that an order gave it; nil without one.
  var perSecond: Int?

  init(_ app: String, _ orders: Orders) {
    (self.app, paused, perSecond) = (app, orders.isPaused, orders.perSecond)
  }

  var limitLine: String? { perSecond.map { "\(app) sends at most \($0) a second" } }
}

/// A campaign as the commands show it.
struct CampaignReport: Encodable {
  struct Count: Encodable {
    var entries: Int
    var devices: Int

    init(_ count: EntriesLeft.Count) { (entries, devices) = (count.entries, count.devices) }
  }

  var campaign: String
  /// `paused`, `cancelled`, `sending`, or `done` if nothing is left.
  var state: String
  /// Its limit; nil without one.
  var perSecond: Int?
  var waiting: Count
  var held: Count
  var outcomes: [String: Int]

  init(
    _ campaign: String, _ order: Orders.Campaign?, _ left: EntriesLeft,
    _ outcomes: CampaignOutcomes
  ) {
    self.campaign = campaign
    state = order?.state?.rawValue ?? (left == EntriesLeft() ? "done" : "sending")
    perSecond = order?.perSecond
    (waiting, held) = (Count(left.waiting), Count(left.held))
    self.outcomes = Dictionary(
      uniqueKeysWithValues: outcomes.counts.map { ($0.key.rawValue, $0.value) })
  }

  func count(_ kind: PushOutcome.Kind) -> Int { outcomes[kind.rawValue] ?? 0 }

  /// The numbers of these outcomes, such as "3 accepted, 1 rejected", without zeros.
  func text(of kinds: [PushOutcome.Kind] = PushOutcome.Kind.allCases) -> String {
    kinds.filter { count($0) > 0 }.map { "\(count($0)) \($0)" }.joined(separator: ", ")
  }

  var line: String {
    let ends = text()
    let limit = perSecond.map { ", at most \($0) a second" } ?? ""
    return
      "\(campaign): \(state)\(limit); \(waiting.devices.of("device")) \(waiting.devices == 1 ? "waits" : "wait"), "
      + "\(held.devices) \(held.devices == 1 ? "is" : "are") held"
      + (ends.isEmpty ? "" : "; \(ends)")
  }

  /// How a cancelled campaign ended.
  var ending: String {
    let sent = count(.accepted) + count(.rejected)
    let parts = sent > 0 ? " (\(text(of: [.accepted, .rejected])))" : ""
    let others = text(of: [.expired, .refused, .dead])
    return
      "\(campaign) is cancelled: \(sent) had gone out\(parts), \(count(.cancelled)) were cancelled"
      + (count(.unknown) > 0 ? ", \(count(.unknown)) may have gone out (unknown)" : "")
      + (others.isEmpty ? "" : ", \(others)")
  }
}

extension Int {
  /// Such as "1 device" or "2 devices".
  func of(_ one: String, _ several: String? = nil) -> String {
    "\(self) \(self == 1 ? one : several ?? one + "s")"
  }
}

/// Prints a value as JSON.
func printJSON(_ value: some Encodable) throws { print(try EncodedJSON.of(value)) }
