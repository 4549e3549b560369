import ArgumentParser
import BinaryServer
import Client
import CommandOptions
import Logging
import Simulator

/// The options of `apns simulate`.
struct SimulatorOptions: ParsableArguments {
  @Option(help: "The name or address to listen on.")
  var host = "127.0.0.1"

  @Option(help: .of("port", "The port for HTTP/2; 0 picks a free one."))
  var http2Port: UInt16 = 8443

  @Flag(
    help: """
      Listen for the binary interface as well: the gateway on port 2195, the feedback service on 2196.
      """)
  var binary = false

  @Option(
    name: .customLong("gateway-port"),
    help: .of("port", "The binary gateway's port, with or without --binary; 0 picks a free one."))
  var givenGatewayPort: UInt16?

  @Option(
    name: .customLong("feedback-port"),
    help: .of("port", "The feedback service's port, with or without --binary; 0 picks a free one."))
  var givenFeedbackPort: UInt16?

  var gatewayPort: UInt16? { givenGatewayPort ?? (binary ? 2195 : nil) }
  var feedbackPort: UInt16? { givenFeedbackPort ?? (binary ? 2196 : nil) }

  @Option(
    help: ArgumentHelp(
      """
      The port for managing broadcast channels over HTTP/2, off by default; 0 picks a free one.
      """, valueName: "port"))
  var channelsPort: UInt16?

  @Option(help: .of("n", "The maximum number of channels of an app."))
  var channelsMax = 10_000

  @Option(
    help: ArgumentHelp(
      """
      An app that is not enabled for broadcasts: requests for these and for its channels get \
      FeatureNotEnabled. May be repeated.
      """, valueName: "bundle-id"))
  var noBroadcasts: [String] = []

  @Option(
    file: """
      Devices that subscribe to channels: lines of <token hex> <channel ID>. The same seed makes \
      the same channels.
      """)
  var subscriptions: String?

  @Option(
    help: """
      The service to simulate over HTTP/2: sandbox or production. Responses of the sandbox have \
      apns-unique-id. Default: sandbox, or production with --like production.
      """)
  var environment: SimulatedEnvironment?

  @Option(
    help: ArgumentHelp(
      """
      A key that may sign provider tokens, in PEM: the private key as Apple issues it (.p8), or \
      the public key. After sandbox: or production: it is for this environment only, and the other \
      one responds with BadEnvironmentKeyIdInToken. May be repeated.
      """, valueName: "keyid:teamid:file"))
  var providerKey: [String] = []

  @Option(
    help: .of("dir", "The directory of certificates and keys, which are made if they are missing.")
  )
  var certificates = "simulator-certificates"

  @Option(
    help: "The lowest TLS version: \(TLSBound.allCases.map(\.rawValue).joined(separator: ", "))."
  )
  var tlsMin = TLSBound.tls1_2

  @Option(help: "The highest TLS version on the binary ports.")
  var tlsMax = TLSBound.tls1_2

  @Flag(
    help: """
      Send TLS 1.3 session tickets right after the handshake on the binary ports, as many servers \
      do. Legacy clients mistake them for an error packet. Implies --tls-max 1.3.
      """
  )
  var sessionTickets = false

  @Option(
    help: "The size of a valid device token: 32 to 100 bytes, only 32, or any from 1 byte on.")
  var tokenSize = TokenSize.apple

  @Option(
    help: .of("bytes", "The largest payload of commands 0 and 1: 256, or 2048 as since 2014."))
  var legacyPayloadMax = PayloadMax.bytes2048

  @Option(help: .of("bytes", "The largest payload of command 2: 2048, or 256."))
  var framedPayloadMax = PayloadMax.bytes2048

  @Flag(
    inversion: .prefixedNo,
    help: """
      Accept only payloads that are JSON with an object aps, or MDM; others get status 1, or \
      PayloadEmpty over HTTP/2.
      """)
  var checkPayload = true

  @Option(
    help: ArgumentHelp(
      """
      Require this topic, or "any", in the client's certificate (its UID): without a topic the \
      status is 3, with one longer than 255 bytes 6, with another one 8. Over HTTP/2 the topic of \
      the push applies, including suffixes such as .voip, and another one gets \
      DeviceTokenNotForTopic. May be repeated, or list several with commas: a certificate for one \
      of them is valid for all.
      """, valueName: "topic"))
  var topic: [String] = []

  var topics: [String] { Self.parts(topic) }

  @Option(
    help: ArgumentHelp(
      """
      An app of the team that signs provider tokens. With a provider token, other apps get \
      TopicDisallowed. May be repeated, or list several with commas. Default: all apps.
      """, valueName: "topic"))
  var teamTopic: [String] = []

  static func parts(_ lists: [String]) -> [String] {
    lists.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map(String.init)
  }

  @Option(file: "Device tokens to reject with status 8: hex, one per line; # starts a comment.")
  var badTokens: String?

  @Option(
    file: "The devices that the feedback service sends, once: lines of <unix seconds> <token hex>.")
  var feedback: String?

  @Option(
    file:
      "Record accepted notifications in this file, one JSON object per line; emptied at the start.")
  var accepted: String?

  @Option(
    file: """
      Record every notification in this file with its outcome: accepted, rejected with its status, \
      discarded after an error, or ignored. A duplicate has the token and payload of an earlier \
      accepted one. The file ends with a summary; emptied at the start.
      """)
  var ledger: String?

  @Option(help: .of("name=value", "A fault to simulate; may be repeated."))
  var fault: [String] = []

  @Option(help: .of("name", Preset.help))
  var like: Preset?

  @Option(
    file: """
      Play the service's side of a recording made by apns send --record: each push to one of its \
      devices gets the recorded response, any other push the response of that time, and \
      connections end as recorded. HTTP/2 only.
      """)
  var replay: String?

  @Option(help: .of("n", "Play the recording this many times as fast."))
  var speed: Double?

  @Option(file: "Faults as a JSON object, or as an array of them; --fault changes them.")
  var rules: String?

  @Option(
    name: .customLong("seed"),
    help: ArgumentHelp(
      """
      The seed of random numbers: the same seed and the same client give the same run, unless the \
      order depends on timing.
      """, valueName: "seed"))
  var chance = Seed.random
  var seed: UInt64 { chance.number }

  @Option(help: .of("port", "The control API's port; 0 picks a free one."))
  var controlPort: UInt16?

  @Option(help: .of("n", "How many accepted notifications the control API remembers."))
  var controlKeeps = 100_000

  @Option(help: .of("n", "How many worlds the control API can make."))
  var worldsMax = 1000

  @Option(
    help: .of(
      "port", "The port of a web page that shows notifications as they arrive; 0 picks a free one.")
  )
  var dashboardPort: UInt16?

  @Option(
    help: ArgumentHelp(
      """
      The name or address that the page listens on. Anyone who can reach it sees all pushes and \
      has the powers of the control API.
      """, valueName: "host"))
  var dashboardHost = "127.0.0.1"

  @Option(help: .of("n", "How many of the newest notifications the page can show and search."))
  var dashboardKeeps = 100_000

  @Option(
    help: ArgumentHelp(
      """
      An app's xx.lproj folder with its Localizable.strings, or a folder with several: the page \
      shows loc-keys in that language. May be repeated.
      """, valueName: "dir"),
    completion: .directory)
  var lproj: [String] = []

  @Flag(help: "Print only one JSON object when ready, and one with the totals at the end.")
  var json = false

  @Option(help: .of("pid", "End when this process ends."))
  var parent: Int32?

  @Option(help: "The lowest level to log: trace, debug, info, notice, warning, error, critical.")
  var logLevel = Logger.Level.info

  func validate() throws {
    if tlsMin > tlsMax {
      throw ValidationError("--tls-min \(tlsMin.rawValue) is above --tls-max \(tlsMax.rawValue)")
    }
    var taken: Set<UInt16> = []
    for (option, port) in [
      ("--gateway-port", gatewayPort), ("--feedback-port", feedbackPort),
      ("--http2-port", http2Port), ("--channels-port", channelsPort),
      ("--control-port", controlPort), ("--dashboard-port", dashboardPort),
    ] {
      guard let port, port != 0, !taken.insert(port).inserted else { continue }
      throw ValidationError("\(option) \(port) is already used for another service")
    }
    if channelsMax < 0 { throw ValidationError("--channels-max \(channelsMax) is below 0") }
    if dashboardPort == nil, !lproj.isEmpty {
      throw ValidationError("--lproj needs --dashboard-port")
    }
    if dashboardKeeps <= 0 { throw ValidationError("--dashboard-keeps must be at least 1") }
    if controlKeeps <= 0 { throw ValidationError("--control-keeps must be at least 1") }
    if worldsMax < 0 { throw ValidationError("--worlds-max \(worldsMax) is below 0") }
    if topics.contains("") { throw ValidationError("--topic is empty") }
    if Self.parts(teamTopic).contains("") { throw ValidationError("--team-topic is empty") }
    if topics.count > 1, topics.contains("any") {
      throw ValidationError("--topic any cannot be used with other topics")
    }
    if like != nil, rules != nil {
      throw ValidationError("give either --like or --rules: both set the faults")
    }
    if speed != nil, replay == nil { throw ValidationError("--speed needs --replay") }
    if let speed, !(speed > 0 && speed <= 1e9) {
      throw ValidationError("--speed must be above 0, and at most 1000000000")
    }
    if certificates.isEmpty { throw ValidationError("--certificates is empty") }
    if let parent, parent <= 0 { throw ValidationError("--parent \(parent) is not a process") }
  }
}
