import ArgumentParser
import Relay

struct LimitCommand: CampaignCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit",
    abstract: "Limit how fast a campaign or an app is sent.",
    discussion: """
      All relays on the queue together send no more notifications in a second. It may be changed at any \
      time, and relays follow within a second. A campaign's limit may be set before its first entry; it \
      does not slow the app's other notifications. An app's limit replaces limits.per_second of the \
      configuration while it is set.

          apns relay limit --app shop --campaign sale-1 --per-second 500
          apns relay limit --app shop --campaign sale-1 --per-second none

      EXIT STATUS: 0; 2 if the command line, the configuration or the queue cannot be used.
      """)

  /// The argument of `--per-second`.
  struct Limit: ExpressibleByArgument {
    /// nil for none.
    var perSecond: Int?

    init?(argument: String) {
      if argument == "none" { return }
      guard let number = Int(argument), Orders.perSecond.contains(number) else { return nil }
      perSecond = number
    }
  }

  @OptionGroup var options: QueueOptions

  @Option(help: .of("name", "Only this campaign. Default: the whole app."))
  var campaign: String?

  @Option(
    help: .of(
      "n",
      "Notifications in a second, up to \(Orders.perSecond.upperBound); none ends the limit."))
  var perSecond: Limit

  @Flag(help: "Print the campaign or the app as JSON.")
  var json = false

  func run(_ campaigns: AppCampaigns) throws {
    let perSecond = perSecond.perSecond
    guard let campaign else {
      try campaigns.store.limit(nil, to: perSecond, at: campaigns.now)
      let report = AppReport(campaigns.app, try campaigns.store.read())
      if json { return try printJSON(report) }
      return print(
        report.limitLine ?? "\(report.app) has the limit of its configuration, if there is one")
    }
    if let fault = NewEntry.fault(of: campaign, "the campaign") { throw fault }
    let known =
      perSecond == nil
      ? try campaigns.report(of: campaign) : try campaigns.knownReport(of: campaign)
    try campaigns.store.limit(campaign, to: perSecond, at: campaigns.now)
    let report = try campaigns.knownReport(of: campaign)
    if json { return try printJSON(report ?? known) }
    print((report ?? known)?.line ?? "")
    if known == nil { print("the queue has nothing of \(campaign) yet") }
  }
}
