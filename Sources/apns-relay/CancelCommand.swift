import ArgumentParser
import Foundation
import Relay

struct CancelCommand: CampaignCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Cancel a campaign or an entry.",
    discussion: """
      Notifications that relays have not sent yet end with the outcome cancelled; those in flight get \
      their own outcome. The command waits until nothing is left, and says how much had gone out. After \
      that relays send nothing of it, and cancel entries that producers add to it later.

          apns relay cancel --app shop --campaign sale-1
          apns relay cancel --app shop --id order-4711

      Notifications that a crashed relay may have sent end with the outcome unknown.

      EXIT STATUS: 0 if nothing of it is left; 1 if the order is noted, and no relay serves the app now, \
      or the app is paused; 2 if the queue does not know it, or if the command line, the configuration \
      or the queue cannot be used.
      """)

  @OptionGroup var options: QueueOptions

  @OptionGroup var choice: CampaignOrID

  @Flag(name: .customLong("no-wait"), help: "Only give the order.")
  var noWait = false

  @Flag(help: "Print the result as JSON.")
  var json = false

  func run(_ campaigns: AppCampaigns) throws {
    if let campaign = choice.campaign { try cancel(campaign, campaigns) }
    if let id = choice.id { try cancel(id: id, campaigns) }
  }

  private func cancel(_ campaign: String, _ campaigns: AppCampaigns) throws {
    _ = try campaigns.report(of: campaign)
    let orders = try campaigns.store.cancel(campaign, at: campaigns.now)
    try end(campaign, campaigns, orders) {
      try campaigns.queue.left(.campaign(campaign), app: campaigns.app)[campaign]
    } said: {
      let report = try campaigns.report(of: campaign)
      if json { try printJSON(report) } else { print(report.ending) }
    }
  }

  private struct IDReport: Encodable {
    var id: String
    /// The outcome of its first device.
    var outcome: String?
  }

  private func cancel(id: String, _ campaigns: AppCampaigns) throws {
    guard let left = try campaigns.left(of: id) else {
      guard let known = try campaigns.queue.known([id], app: campaigns.app)[id] else {
        throw RelayCommand.refusal("the queue of \(campaigns.app) knows no id '\(id)'")
      }
      let outcome = known.outcome.map { " with the outcome \($0.kind)" } ?? ""
      throw RelayCommand.refusal("\(id) has ended\(outcome)")
    }
    let isList = left.waiting.devices + left.held.devices > 1
    let orders = try campaigns.store.change { $0.cancelledIDs.insert(id) }
    let began = campaigns.now
    try end(id, campaigns, orders) {
      if campaigns.now - began > OrderStore.knownMS {
        try campaigns.store.advance(by: orders, ids: [id], at: campaigns.now)
      }
      return try campaigns.left(of: id)
    } said: {
      try campaigns.store.change { $0.cancelledIDs.remove(id) }
      let outcome = try campaigns.queue.known([id], app: campaigns.app)[id]?.outcome?.kind
      if json { return try printJSON(IDReport(id: id, outcome: outcome?.rawValue)) }
      if isList { return print("\(id): nothing of it is left") }
      print(
        outcome == .cancelled
          ? "\(id) is cancelled" : "\(id) had ended before: \(outcome?.rawValue ?? "no outcome")")
    }
  }

  /// Waits until nothing is left, and calls `said`.
  private func end(
    _ name: String, _ campaigns: AppCampaigns, _ orders: Orders,
    left: () throws -> EntriesLeft?, said: () throws -> Void
  ) throws {
    if noWait {
      try campaigns.store.advance(by: orders, at: campaigns.now)
      if !json { print("\(name): the order to cancel it is noted") }
      return
    }
    var isPaused = false
    let began = campaigns.now
    let isDone = try campaigns.wait {
      // Workers may learn only now of an entry that was not due.
      try campaigns.store.advance(by: orders, at: campaigns.now)
      guard let left = try left() else { return true }
      isPaused = try left.held.entries == 0 && campaigns.store.read().isPaused
      return isPaused
    }
    guard isDone else { throw campaigns.noted(name) }
    guard !isPaused else {
      print(
        "\(name): \(campaigns.app) is paused; the order is noted, and carried out when it is resumed"
      )
      throw ExitCode(1)
    }
    // A worker may still hold what another one has just ended. It reads the order before it sends that.
    let restMS = began + OrderStore.knownMS - campaigns.now
    if restMS > 0 { Thread.sleep(forTimeInterval: Double(restMS) / 1000) }
    try said()
  }
}
