import ArgumentParser
import BinaryServer
import Client
import CommandOptions
import Dashboard
import Dispatch
import Glibc
import JSON
import Logging
import Simulator

extension TLSBound: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The valid sizes of device tokens.
enum TokenSize: String, CaseIterable, ExpressibleByArgument {
  case apple = "32-100"
  case bytes32 = "32"
  case any

  var range: ClosedRange<Int> {
    switch self {
    case .apple: 32...100
    case .bytes32: 32...32
    case .any: 1...100
    }
  }
}

/// The Apple service that HTTP/2 simulates.
enum SimulatedEnvironment: String, CaseIterable, ExpressibleByArgument {
  case sandbox
  case production
}

/// The largest payload.
enum PayloadMax: Int, CaseIterable, ExpressibleByArgument {
  case bytes256 = 256
  case bytes2048 = 2048
}

struct Simulate: AsyncParsableCommand {
  private static let name = SimulatorProgram.name

  static let configuration = CommandConfiguration(
    commandName: SimulatorProgram.isCalled ? name : "simulate",
    abstract: "Run a simulated APNs: HTTP/2, the binary gateway and the feedback service.",
    discussion: """
      HTTP/2, and a page that shows notifications as they arrive:

          \(name) --dashboard-port 8191

      Reject every hundredth notification:

          \(name) --fault bad_every=100 --fault bad_reason=BadDeviceToken

      The binary interface too, with delayed error packets:

          \(name) --binary --fault bad_every=100 \\
            --fault error_delay_ms=200,1000

      The first start makes certificates. Each start prints how to connect, then a line that \
      begins with "ready". SIGINT and SIGTERM end the run and print its totals; SIGHUP and SIGUSR1 \
      print them and the run continues. Logs go to standard error. As a systemd service \
      (Type=notify) it reports when it is ready.

      Without faults it behaves like APNs. It is as strict about the size of tokens, and about \
      payloads, which must be JSON.

      FAULTS are given as --fault name=value, or as members of a JSON object in a --rules file or \
      in a request to /faults of the control API. The JSON may be an array of such objects: then \
      the first with a matching connections and connection_share applies to a connection, and a \
      connection without a match has no faults. --fault changes each of them. Counts start when \
      the run starts, and again when faults change. A value is drawn from a range such as 10-20, \
      in JSON also [10,20].

      \(FaultText.list)

      HTTP/2, on --http2-port: POST /3/device/<hex token>, with a client certificate or a provider \
      token. Some faults are for HTTP/2 only; all others apply too, except those of error packets. \
      Pushes to devices in the feedback, from --feedback or /unregistered, get 410. The \
      certificates' directory also has a signing key for provider tokens.

      BROADCASTS, with --channels-port: that port manages channels over HTTP/2, at /1/apps/<bundle \
      ID>/channels and /all-channels, with the same authorization. Broadcasts go to --http2-port: \
      POST /4/broadcasts/apps/<bundle ID>. Devices subscribe by --subscriptions, by \
      /subscriptions, or by a push that starts a Live Activity with input-push-channel. \
      /activities lists the Live Activities on their lock screens.

      CONTROL API, with --control-port: HTTP on 127.0.0.1, only for this machine, with JSON; \
      errors have a member "error". Changed faults apply to open connections too, except \
      feedback_cut_bytes and those for the start of a connection, which apply to new connections.

      \(FaultText.control)

      THE BINARY PORTS speak at most TLS 1.2 unless --tls-max allows more. HTTP/2 uses TLS 1.3, \
      with session tickets. On the binary ports, tickets are readable bytes without data, which \
      break legacy clients: they are sent only with --session-tickets, right after the handshake.

      \(Build.text)
      """,
    version: SimulatorProgram.isCalled ? APNSCommand.version(of: name) : "")

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

  private var gatewayPort: UInt16? { givenGatewayPort ?? (binary ? 2195 : nil) }
  private var feedbackPort: UInt16? { givenFeedbackPort ?? (binary ? 2196 : nil) }

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
    help: ArgumentHelp(
      """
      Devices that subscribe to channels: lines of <token hex> <channel ID>. The same seed makes \
      the same channels.
      """, valueName: "file"),
    completion: .file())
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

  private var topics: [String] { Self.parts(topic) }

  @Option(
    help: ArgumentHelp(
      """
      An app of the team that signs provider tokens. With a provider token, other apps get \
      TopicDisallowed. May be repeated, or list several with commas. Default: all apps.
      """, valueName: "topic"))
  var teamTopic: [String] = []

  private static func parts(_ lists: [String]) -> [String] {
    lists.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map(String.init)
  }

  @Option(
    help: .of(
      "file", "Device tokens to reject with status 8: hex, one per line; # starts a comment."),
    completion: .file())
  var badTokens: String?

  @Option(
    help: .of(
      "file",
      "The devices that the feedback service sends, once: lines of <unix seconds> <token hex>."),
    completion: .file())
  var feedback: String?

  @Option(
    help: .of(
      "file",
      "Record accepted notifications in this file, one JSON object per line; emptied at the start."),
    completion: .file())
  var accepted: String?

  @Option(
    help: ArgumentHelp(
      """
      Record every notification in this file with its outcome: accepted, rejected with its status, \
      discarded after an error, or ignored. A duplicate has the token and payload of an earlier \
      accepted one. The file ends with a summary; emptied at the start.
      """, valueName: "file"),
    completion: .file())
  var ledger: String?

  @Option(help: .of("name=value", "A fault to simulate; may be repeated."))
  var fault: [String] = []

  @Option(help: .of("name", Preset.help))
  var like: Preset?

  @Option(
    help: ArgumentHelp(
      """
      Play the service's side of a recording made by apns send --record: each push to one of its \
      devices gets the recorded response, any other push the response of that time, and \
      connections end as recorded. HTTP/2 only.
      """, valueName: "file"),
    completion: .file())
  var replay: String?

  @Option(help: .of("n", "Play the recording this many times as fast."))
  var speed: Double?

  @Option(
    help: .of("file", "Faults as a JSON object, or as an array of them; --fault changes them."),
    completion: .file())
  var rules: String?

  @Option(
    name: .customLong("seed"),
    help: ArgumentHelp(
      """
      The seed of random numbers: the same seed and the same client give the same run, unless the \
      order depends on timing.
      """, valueName: "seed"))
  var chance = Seed.random
  private var seed: UInt64 { chance.number }

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

  func run() async throws {
    let end = EndOfRun(parent: parent)
    OpenFiles.raiseLimit()
    let level = logLevel
    LoggingSystem.bootstrap { label in
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
    var logger = Logger(label: "apns")
    let wire = ConnectionLog()
    if dashboardPort != nil {
      // The page gets log lines at any log level.
      logger = Logger(label: "apns") { label in
        var handler = StreamLogHandler.standardError(label: label)
        handler.logLevel = level
        return MultiplexLogHandler([handler, wire.handler()])
      }
    }
    let configuration = try configuration(logger)
    let languages = try languages()
    let simulator = try await start(configuration, logger)
    var announcement = Announcement(
      host: Self.bare(host), gatewayPort: simulator.gatewayPort,
      feedbackPort: simulator.feedbackPort,
      http2Port: simulator.http2Port, channelsPort: simulator.channelsPort,
      controlPort: simulator.controlPort, seed: seed,
      certificates: configuration.certificates.absolute)
    try await serveDashboard(simulator, languages, wire, &announcement, logger)
    let totalsQueue = DispatchQueue(label: "totals")
    let onRequest = [SIGUSR1, SIGHUP].map { number in
      SignalWatch(number, on: totalsQueue) {
        StandardStream.output.write(summary(simulator.ledger.totals))
      }
    }
    // Signals may arrive as soon as this is printed.
    StandardStream.output.write(json ? announcement.json : announcement.text)
    let manager = ServiceManager()
    manager.say("READY=1")
    let request = end.request
    let requests = Task {
      for await _ in simulator.shutdownRequests { request("end requested by the control API") }
    }
    var status = ExitCode.success
    let reason = await end.wait()
    requests.cancel()
    for watch in onRequest { watch.cancel() }
    logger.info("ends: \(reason)")
    manager.say("STOPPING=1")
    let totals = await simulator.stop()
    StandardStream.output.write(summary(totals))
    // A script that relies on a record must learn that it is incomplete.
    for (option, record) in [
      ("--ledger", configuration.ledger), ("--accepted", configuration.record),
    ] {
      if let failure = record?.failure {
        StandardStream.error.write("Error: \(option): \(failure)\n")
        status = .failure
      }
    }
    if status != .success { throw status }
  }

  private func languages() throws -> Languages {
    var languages = Languages()
    for folder in lproj { try named("--lproj") { try languages.add(folder) } }
    return languages
  }

  /// Starts the page if requested. It ends with the process: browsers reconnect all the time, and
  /// stopping the server during a connection is error-prone.
  private func serveDashboard(
    _ simulator: SimulatedGateway, _ languages: Languages, _ wire: ConnectionLog,
    _ announcement: inout Announcement, _ logger: Logger
  ) async throws {
    guard let dashboardPort else { return }
    var page = DashboardServer.Configuration(
      host: Self.bare(dashboardHost), port: Int(dashboardPort))
    page.languages = languages
    page.gateway = String(announcement.json.dropLast())
    do {
      announcement.dashboardPort = try await DashboardServer.start(
        page, simulator: simulator, wire: wire)
      announcement.dashboardHost = Self.bare(dashboardHost)
    } catch let error as ListenError {
      _ = await simulator.stop()
      throw refusal("\(error)")
    }
  }

  /// An IPv6 address may have brackets, as before a port.
  private static func bare(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  private func summary(_ totals: Totals) -> String { json ? totals.json : totals.text }

  private func configuration(_ logger: Logger) throws -> SimulatedGateway.Configuration {
    var configuration = SimulatedGateway.Configuration(
      certificates: CertificateDirectory(certificates))
    configuration.host = Self.bare(host)
    configuration.gatewayPort = gatewayPort.map(Int.init)
    configuration.feedbackPort = feedbackPort.map(Int.init)
    configuration.http2Port = Int(http2Port)
    configuration.channelsPort = channelsPort.map(Int.init)
    configuration.channelsMax = channelsMax
    configuration.appsWithoutBroadcasts = noBroadcasts
    configuration.isSandbox = environment.map { $0 == .sandbox } ?? (like != .production)
    if let subscriptions {
      configuration.subscriptions = try named("--subscriptions") {
        try ListFile.subscriptions(at: subscriptions)
      }
    }
    for key in providerKey {
      configuration.providerKeys.append(
        try named("--provider-key") { try ProviderKey(option: key) })
    }
    configuration.tlsMin = tlsMin
    configuration.tlsMax = sessionTickets ? .tls1_3 : tlsMax
    configuration.sendsTickets = sessionTickets
    configuration.seed = seed
    configuration.controlPort = controlPort.map(Int.init)
    configuration.controlKeeps = controlKeeps
    configuration.worldsMax = worldsMax
    if dashboardPort != nil { configuration.recentPushes = RecentPushes(keeps: dashboardKeeps) }
    configuration.rules.checksPayloads = checkPayload
    if !topics.isEmpty { configuration.rules.topic = topics == ["any"] ? .any : .only(topics) }
    if !teamTopic.isEmpty { configuration.rules.teamTopics = Self.parts(teamTopic) }
    configuration.faults = try faults()
    if let replay {
      let recording = try named("--replay") { try Recording(at: replay) }
      configuration.replay = Replay(recording, speed: speed ?? 1)
    }
    if let ledger {
      configuration.ledger = try named("--ledger") {
        try RecordFile(path: ledger, logger: logger)
      }
    }
    configuration.rules.frames.tokenSizes = tokenSize.range
    configuration.rules.frames.legacyPayloadMax = legacyPayloadMax.rawValue
    configuration.rules.frames.framedPayloadMax = framedPayloadMax.rawValue
    if let badTokens {
      configuration.rules.frames.badTokens = try named("--bad-tokens") {
        try ListFile.tokens(at: badTokens)
      }
    }
    if let feedback {
      configuration.feedback = try named("--feedback") { try ListFile.feedback(at: feedback) }
    }
    if let accepted {
      configuration.record = try named("--accepted") {
        try RecordFile(path: accepted, logger: logger)
      }
    }
    return configuration
  }

  /// Reads the file first, so that the command line can change its faults.
  private func faults() throws -> FaultRules {
    var faults = FaultRules()
    if let rules { faults = try named("--rules") { try FaultRules(at: rules) } }
    for option in (like?.faults ?? []) + fault {
      do throws(JSONError) {
        try faults.adopt(option: option)
      } catch {
        throw refusal("--fault \(option): \(error.message)")
      }
    }
    return faults
  }

  private func start(
    _ configuration: SimulatedGateway.Configuration, _ logger: Logger
  ) async throws -> SimulatedGateway {
    do {
      return try await SimulatedGateway.start(configuration, logger: logger)
    } catch let error as CertificateError {
      throw refusal("--certificates: \(error)")
    } catch let error as JSONError {
      throw refusal("--fault or --rules: \(error.message)")
    } catch let error as ListenError {
      throw refusal("\(error)")
    }
  }

  /// Adds the option's name to its errors.
  private func named<Value>(_ option: String, _ make: () throws -> Value) throws -> Value {
    do {
      return try make()
    } catch {
      throw refusal("\(option): \(error)")
    }
  }

  /// Ends as after a wrong option, but without the usage, which does not help with a wrong file.
  private func refusal(_ message: String) -> ExitCode {
    StandardStream.error.write("Error: \(message)\n")
    return .validationFailure
  }
}
