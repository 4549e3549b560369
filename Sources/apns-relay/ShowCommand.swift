import ArgumentParser
import Relay

struct ShowCommand: CampaignCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show a campaign or an entry.",
    discussion: """
          apns relay show --app shop --campaign sale-1
          apns relay show --app shop --id order-4711

      EXIT STATUS: 0; 2 if the queue does not know it, or if the command line, the configuration or the \
      queue cannot be used.
      """)

  @OptionGroup var options: QueueOptions

  @OptionGroup var choice: CampaignOrID

  @Flag(help: "Print it as JSON.")
  var json = false

  private struct EntryReport: Encodable {
    var id: String
    /// `waiting`, `held` or `done`.
    var state: String
    /// The devices without an outcome.
    var devices: Int
    /// When it is due, in UNIX milliseconds; nil if it waits for no time.
    var due: Int64?
    /// The outcome of its first device.
    var outcome: String?
    var reason: String?
  }

  func run(_ campaigns: AppCampaigns) throws {
    if let campaign = choice.campaign {
      let report = try campaigns.report(of: campaign)
      return json ? try printJSON(report) : print(report.line)
    }
    guard let id = choice.id else { return }
    let (left, known) = (
      try campaigns.left(of: id), try campaigns.queue.known([id], app: campaigns.app)[id]
    )
    guard left != nil || known != nil else {
      throw RelayCommand.refusal("the queue of \(campaigns.app) knows no id '\(id)'")
    }
    let devices = (left?.waiting.devices ?? 0) + (left?.held.devices ?? 0)
    let report = EntryReport(
      id: id,
      state: left.map { $0.held.entries > 0 ? "held" : "waiting" } ?? "done", devices: devices,
      due: left.flatMap { $0.isLater(than: campaigns.now) ? $0.due : nil },
      outcome: known?.outcome?.kind.rawValue, reason: known?.outcome?.reason)
    if json { return try printJSON(report) }
    let end = report.outcome.map { outcome in
      "; \(outcome)" + (report.reason.map { $0.isEmpty ? "" : " (\($0))" } ?? "")
    }
    print(
      "\(id): \(report.state)"
        + (left == nil ? "" : ", \(devices.of("device")) without an outcome")
        + (report.due.map { ", due \(TimeText.of($0))" } ?? "") + (end ?? ""))
  }
}
