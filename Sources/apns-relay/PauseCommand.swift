import ArgumentParser
import Foundation
import Relay

struct PauseCommand: CampaignCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Pause a campaign or an app.",
    discussion: """
      Relays send nothing more of it; what is in flight gets its outcome. Producers may add more. The \
      command waits until no relay holds any of it.

          apns relay pause --app shop --campaign sale-1
          apns relay pause --app shop

      EXIT STATUS: 0; 1 if no relay serves the app now, and one still has to give back what it held; 2 if \
      the command line, the configuration or the queue cannot be used.
      """)

  @OptionGroup var options: QueueOptions

  @Option(help: .of("name", "Only this campaign. Default: the whole app."))
  var campaign: String?

  @Flag(name: .customLong("no-wait"), help: "Only give the order.")
  var noWait = false

  @Flag(help: "Print the campaign or the app as JSON.")
  var json = false

  /// Relays read orders at least this often.
  private static let readS = 1.0

  func run(_ campaigns: AppCampaigns) throws {
    guard let campaign else { return try pause(campaigns) }
    _ = try campaigns.report(of: campaign)
    try campaigns.store.pause(campaign, at: campaigns.now)
    let isDone =
      try noWait
      || campaigns.wait {
        try campaigns.queue.left(.campaign(campaign), app: campaigns.app)[campaign]?.held.entries
          ?? 0 == 0
      }
    let report = try campaigns.report(of: campaign)
    if json { try printJSON(report) } else { print(report.line) }
    if !isDone { throw ExitCode(1) }
  }

  private func pause(_ campaigns: AppCampaigns) throws {
    let orders = try campaigns.store.change { $0.isPaused = true }
    let began = Date()
    let isDone =
      try noWait
      || campaigns.wait {
        let held = try campaigns.queue.depths(at: campaigns.now)[campaigns.app]?.claimed ?? 0
        let isRead = Date().timeIntervalSince(began) > Self.readS
        return try held == 0 && (isRead || !campaigns.isServed)
      }
    if json {
      try printJSON(AppReport(campaigns.app, orders))
      if !isDone { throw ExitCode(1) }
      return
    }
    guard isDone else { throw campaigns.noted("\(campaigns.app) is paused") }
    print("\(campaigns.app) is paused")
  }
}

struct ResumeCommand: CampaignCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Resume a campaign or an app.",
    discussion: """
      Relays continue where they stopped, in the same order.

          apns relay resume --app shop --campaign sale-1
          apns relay resume --app shop

      EXIT STATUS: 0; 2 if the command line, the configuration or the queue cannot be used.
      """)

  @OptionGroup var options: QueueOptions

  @Option(help: .of("name", "Only this campaign. Default: the app; paused campaigns stay paused."))
  var campaign: String?

  @Flag(help: "Print the campaign or the app as JSON.")
  var json = false

  func run(_ campaigns: AppCampaigns) throws {
    guard let campaign else {
      let orders = try campaigns.store.change { $0.isPaused = false }
      if json { return try printJSON(AppReport(campaigns.app, orders)) }
      return print("\(campaigns.app) is resumed")
    }
    _ = try campaigns.report(of: campaign)
    try campaigns.store.resume(campaign, at: campaigns.now)
    let report = try campaigns.report(of: campaign)
    if json { try printJSON(report) } else { print(report.line) }
  }
}
