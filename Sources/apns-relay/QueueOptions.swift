import ArgumentParser
import CommandOptions
import Relay

/// The queue and the app that a command is about.
struct QueueOptions: ParsableArguments {
  @Option(help: ConfigurationFile.help)
  var config: String?

  @Option(
    help: .of("file", "The queue's file, or redis://… or unix:/…, instead of the configuration's."))
  var queue: String?

  @Option(help: .of("name", "The app, as the configuration names it. Default: the only one."))
  var app: String?

  func place() throws -> (queue: RelayConfiguration.Queue, app: String) {
    // A producer may have access to the queue only.
    let configuration = config == nil && queue != nil ? nil : try ConfigurationFile.read(config)
    let names = configuration?.apps.map(\.name) ?? []
    let all = names.joined(separator: ", ")
    guard let app = app ?? (names.count == 1 ? names[0] : nil) else {
      throw ValidationError(
        "--app is missing" + (names.isEmpty ? "" : ": the configuration has \(all)"))
    }
    if configuration != nil, !names.contains(app) {
      throw RelayCommand.refusal("the configuration has no app '\(app)': \(all)")
    }
    let settings = configuration?.queue
    return (queue.map { RelayConfiguration.Queue(at: $0, like: settings) } ?? settings!, app)
  }
}

/// The dead letters that a command is about.
struct LetterOptions: ParsableArguments {
  @Option(
    parsing: .upToNextOption, help: .of("id", "The IDs of dead letters, as they were enqueued."))
  var id: [String] = []

  @Flag(help: "All dead letters of the app.")
  var all = false

  /// `others` are options that name dead letters too.
  func demandSome(_ others: String = "") throws {
    if all, !id.isEmpty { throw ValidationError("give either --id or --all, not both") }
    guard all || !id.isEmpty || !others.isEmpty else {
      throw ValidationError("name dead letters by --id, or give --all")
    }
  }
}

/// The campaign or the entry that a command is about.
struct CampaignOrID: ParsableArguments {
  @Option(help: .of("name", "A campaign."))
  var campaign: String?

  @Option(help: .of("id", "An entry."))
  var id: String?

  func validate() throws {
    guard (campaign == nil) != (id == nil) else {
      throw ValidationError("give either --campaign or --id")
    }
  }
}
