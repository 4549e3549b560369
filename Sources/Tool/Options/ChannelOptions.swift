import ArgumentParser
import CAPNS
import Client
import CommandOptions

/// The options of every channel command.
struct ChannelOptions: ParsableArguments {
  @OptionGroup(title: "Provider") var provider: ProviderOptions
  @OptionGroup(title: "Service") var service: PeerOptions

  @Option(help: .of("id", "The app's bundle ID. Default: the certificate's."))
  var topic: String?

  @Flag(help: "Print JSON.") var json = false

  func validate() throws {
    if topic == nil, provider.p8 != nil {
      throw ValidationError("--p8 needs --topic, the bundle ID of the channels' app")
    }
  }

  /// Connects when it sends its first request.
  func open() throws -> ChannelService {
    try provider.demand(of: service)
    let credentials = try provider.credentials()
    var options = ChannelService.Options()
    options.peer = service.peer
    options.topic = topic
    return try Exit.refusing { try ChannelService(options, credentials: credentials) }
  }

  static func check(_ ids: [String]) throws {
    for id in ids where ChannelID(id.utf8) == nil {
      throw ValidationError("'\(id)' \(ChannelID.fault)")
    }
  }

  static let members = HelpEntry.list([
    "channel": "its ID",
    "outcome":
      "accepted; rejected, by the service; unknown, if the connection ended before a response",
    "storage": "what the channel stores: none or latest",
    "push_type": "its push type: liveactivity",
    "reason": "the service's reason for a rejection",
    "http_status": "the response's status, such as 201 or 400",
    "retry_after": "the seconds after which to repeat the request",
    "request_id": "the request's ID, for questions to Apple",
  ])
}
