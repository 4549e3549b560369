import ArgumentParser
import Relay

struct ListCommand: CampaignCommand {
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
    var app: AppReport
    var campaigns: [CampaignReport]

    private enum CodingKeys: CodingKey { case campaigns }

    func encode(to encoder: any Encoder) throws {
      try app.encode(to: encoder)
      var values = encoder.container(keyedBy: CodingKeys.self)
      try values.encode(campaigns, forKey: .campaigns)
    }
  }

  func run(_ campaigns: AppCampaigns) throws {
    let report = Report(
      app: AppReport(campaigns.app, try campaigns.store.read()), campaigns: try campaigns.all())
    if json { return try printJSON(report) }
    if report.app.paused { print("\(campaigns.app) is paused") }
    if let limit = report.app.limitLine { print(limit) }
    for campaign in report.campaigns { print(campaign.line) }
    if report.campaigns.isEmpty { print("\(campaigns.app) has no campaigns") }
  }
}
