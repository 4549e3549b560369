import ArgumentParser
import Relay

struct ListCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the campaigns of an app.",
    discussion: """
      Each line has a campaign, its state, the devices that wait in the queue or that relays hold, and \
      the outcomes so far. A campaign is sending, paused, cancelled, or done. It is listed as long as \
      outcomes are kept after its last one.

          apns relay list --app shop

      EXIT STATUS: 0; 2 if the command line, the configuration or the queue cannot be used.
      """)

  @OptionGroup var options: QueueOptions

  @Flag(help: "Print the campaigns as JSON.")
  var json = false

  private struct Report: Encodable {
    var app: String
    var paused: Bool
    var campaigns: [CampaignReport]
  }

  func run() throws {
    try RelayCommand.refusing {
      let campaigns = try options.campaigns()
      let report = Report(
        app: campaigns.app, paused: try campaigns.store.read().isPaused,
        campaigns: try campaigns.all())
      if json { return try printJSON(report) }
      if report.paused { print("\(report.app) is paused") }
      for campaign in report.campaigns { print(campaign.line) }
      if report.campaigns.isEmpty { print("\(report.app) has no campaigns") }
    }
  }
}
