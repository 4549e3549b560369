import APNSLibrary
import ArgumentParser
import CAPNS

/// The options of every channel command.
struct ChannelOptions: ParsableArguments {
  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions

  @Option(
    help: ArgumentHelp(
      "The app's bundle identifier. Default: the certificate's.", valueName: "id"))
  var topic: String?

  @Flag(help: "Print JSON.") var json = false

  func validate() throws {
    if topic == nil, provider.p8 != nil {
      throw ValidationError("--p8 needs --topic, the bundle identifier of the channels' app")
    }
  }

  /// Connects with its first request.
  func open() throws -> ChannelService {
    try provider.demand(of: service)
    let credentials = try provider.credentials()
    var options = ChannelService.Options()
    options.peer = service.peer
    options.topic = topic
    do {
      return try ChannelService(options, credentials: credentials)
    } catch {
      throw Exit.refusal(error.message)
    }
  }

  /// A channel that was named on the command line.
  static func check(_ ids: [String]) throws {
    for id in ids where ChannelID(id.utf8) == nil {
      throw ValidationError("'\(id)' \(ChannelID.fault)")
    }
  }

  static let members = [
    FaultText.entry("channel", "its identifier"),
    FaultText.entry(
      "outcome",
      "accepted; rejected, by the service; unknown, if the connection ended before an answer"),
    FaultText.entry("storage", "none or latest: what the channel stores"),
    FaultText.entry("push_type", "what it is for: liveactivity"),
    FaultText.entry("reason", "of a rejection, in the service's words"),
    FaultText.entry("http_status", "of the answer, such as 201 or 400"),
    FaultText.entry("retry_after", "after how many seconds it may be asked again"),
    FaultText.entry("request_id", "the request's identifier, for questions to Apple"),
  ].joined(separator: "\n")
}
