import ArgumentParser
import BinaryServer
import Dashboard
import Dispatch
import Glibc
import Logging
import Simulator

extension TLSBound: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

/// The device tokens that count as well formed.
enum TokenSize: String, CaseIterable, ExpressibleByArgument {
  case any
  case bytes32 = "32"

  var range: ClosedRange<Int> { self == .any ? 1...100 : 32...32 }
}

/// The largest payload.
enum PayloadMax: Int, CaseIterable, ExpressibleByArgument {
  case bytes256 = 256
  case bytes2048 = 2048
}

struct Simulate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a gateway, binary and HTTP/2, and a feedback service like Apple's.",
    discussion: """
      A gateway for both protocols, and a page that shows what arrives:

          apns simulate --http2-port 8443 --dashboard-port 8191

      One that rejects every hundredth notification, and takes its time to say so:

          apns simulate --fault bad_every=100 --fault error_delay_ms=200,1000

      Makes certificates at the first start, prints how to connect, then a line that begins \
      with "ready". Ends on SIGINT and SIGTERM and prints what it saw; SIGHUP and SIGUSR1 print \
      it at any time, and it goes on. Logs go to standard error.

      It behaves unless told otherwise.

      FAULTS, as --fault name=value, as members of the JSON object in a --rules file, or of one \
      sent to /faults of the control interface. Where the JSON is an array of such objects, the \
      first whose connections and connection_share take a connection in has it; a connection \
      that none takes in is spared. --fault changes each of them. Whatever is counted is counted \
      from the beginning, or anew when faults change. A value is drawn from a range such as \
      10-20, in JSON [10,20] too.

      \(FaultText.list)

      HTTP/2, with --http2-port: POST /3/device/<hex token>, with the client's certificate or \
      with a provider token. Its own faults are named so; the others come over it too, but for \
      those of error packets. What is in the feedback, by --feedback or /unregistered, is \
      answered with 410. One key for provider tokens is kept beside the certificates.

      CONTROL INTERFACE, with --control-port: HTTP on 127.0.0.1, JSON throughout, for nobody \
      but this machine; what is wrong is said in "error". Faults that change do so on open \
      connections too, except for how connections begin and feedback_cut_bytes: these come over \
      connections made later.

      \(FaultText.control)

      TLS of the binary ports goes up to 1.2 unless --tls-max says otherwise: with 1.3 the gateway cannot be kept \
      from sending session tickets, readable bytes without data that break clients of old. They \
      come ahead of its first bytes, or with --session-tickets right behind the handshake.

      \(Build.text)
      """)

  @Option(help: "The name or address to listen on.")
  var host = "127.0.0.1"

  @Option(help: ArgumentHelp("The gateway's port; 0 takes a free one.", valueName: "port"))
  var gatewayPort: UInt16 = 2195

  @Option(help: ArgumentHelp("The feedback service's port; 0 takes a free one.", valueName: "port"))
  var feedbackPort: UInt16 = 2196

  @Option(
    help: ArgumentHelp("The port for HTTP/2, where wanted; 0 takes a free one.", valueName: "port"))
  var http2Port: UInt16?

  @Option(
    help: ArgumentHelp(
      """
      A key that provider tokens may be signed with, PEM: the private one, as Apple gives it \
      (.p8), or the public one. May be repeated.
      """, valueName: "keyid:teamid:file"))
  var providerKey: [String] = []

  @Option(
    help: ArgumentHelp(
      "Where certificates and keys are kept, and made where there are none.", valueName: "dir"))
  var certificates = "simulator-certificates"

  @Option(
    help: "The lowest version of TLS: \(TLSBound.allCases.map(\.rawValue).joined(separator: ", "))."
  )
  var tlsMin = TLSBound.tls1_2

  @Option(
    help: """
      The highest version of TLS. 1.3 brings session tickets, ahead of the first bytes that are \
      sent, which clients of old mistake for an answer.
      """)
  var tlsMax = TLSBound.tls1_2

  @Flag(
    help: """
      Send session tickets of TLS 1.3 right behind the handshake of the binary ports, as many \
      servers do. Clients of old mistake them for an answer. Means --tls-max 1.3.
      """
  )
  var sessionTickets = false

  @Option(help: "Device tokens taken: any size from 1 to 100 bytes, or 32 only.")
  var tokenSize = TokenSize.any

  @Option(
    help: ArgumentHelp(
      "The largest payload of commands 0 and 1: 256, or 2048 as from 2014.", valueName: "bytes"))
  var legacyPayloadMax = PayloadMax.bytes2048

  @Option(
    help: ArgumentHelp("The largest payload of command 2: 2048, or 256.", valueName: "bytes"))
  var framedPayloadMax = PayloadMax.bytes2048

  @Flag(
    help:
      "Take only payloads that are JSON with an object aps, or of MDM; status 1 answers others, PayloadEmpty over HTTP/2."
  )
  var checkPayload = false

  @Option(
    help: ArgumentHelp(
      """
      Demand this topic, or "any", of the client's certificate (its UID): status 3 answers \
      where there is none, 6 where it is longer than 255 bytes, 8 where it is another. Over HTTP/2 \
      the topic pushed to is meant, with what Apple appends for .voip and other kinds, and \
      DeviceTokenNotForTopic answers another. May be repeated, or have several with commas: a \
      certificate for one of them is for all of them.
      """, valueName: "topic"))
  var topic: [String] = []

  private var topics: [String] {
    topic.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map(String.init)
  }

  @Option(
    help: ArgumentHelp(
      "Device tokens to answer with status 8: hex, one to a line, # begins a comment.",
      valueName: "file"),
    completion: .file())
  var badTokens: String?

  @Option(
    help: ArgumentHelp(
      "What the feedback service tells, once: lines of <unix seconds> <token hex>.",
      valueName: "file"),
    completion: .file())
  var feedback: String?

  @Option(
    help: ArgumentHelp(
      "Record accepted notifications here, one JSON object to a line; emptied at the start.",
      valueName: "file"),
    completion: .file())
  var accepted: String?

  @Option(
    help: ArgumentHelp(
      """
      Record every notification here with what became of it: accepted, rejected with its \
      status, discarded after an error, ignored; a duplicate is one accepted though one with \
      the same token and payload had been. Ends with a summary; emptied at the start.
      """, valueName: "file"),
    completion: .file())
  var ledger: String?

  @Option(help: ArgumentHelp("What to do wrong; may be repeated.", valueName: "name=value"))
  var fault: [String] = []

  @Option(
    help: ArgumentHelp(
      "Faults as a JSON object, or as an array of them; --fault changes them.", valueName: "file"),
    completion: .file())
  var rules: String?

  @Option(
    name: .customLong("seed"),
    help: ArgumentHelp(
      """
      Where chance begins: the same seed and the same client give the same run, as far as it is \
      no matter of time what comes first.
      """, valueName: "seed"))
  var chance = Seed.random
  private var seed: UInt64 { chance.number }

  @Option(
    help: ArgumentHelp("The control interface's port; 0 takes a free one.", valueName: "port"))
  var controlPort: UInt16?

  @Option(
    help: ArgumentHelp(
      "How many accepted notifications the control interface can tell of.", valueName: "n"))
  var controlKeeps = 100_000

  @Option(
    help: ArgumentHelp(
      "The port of a page that shows what arrives, for a browser; 0 takes a free one.",
      valueName: "port"))
  var dashboardPort: UInt16?

  @Option(
    help: ArgumentHelp(
      """
      The name or address that page listens on. Whoever reaches it sees all pushes and can do all \
      that the control interface can.
      """, valueName: "host"))
  var dashboardHost = "127.0.0.1"

  @Option(
    help: ArgumentHelp(
      """
      An app's xx.lproj folder with its Localizable.strings, or a folder with several: the page \
      shows loc-keys in that language. May be repeated.
      """, valueName: "dir"),
    completion: .directory)
  var lproj: [String] = []

  @Flag(help: "Print one JSON object when ready and one with the totals at the end, nothing else.")
  var json = false

  @Option(help: ArgumentHelp("End when this process is gone.", valueName: "pid"))
  var parent: Int32?

  @Option(help: "Least level of the log: trace, debug, info, notice, warning, error, critical.")
  var logLevel = Logger.Level.info

  func validate() throws {
    if tlsMin > tlsMax {
      throw ValidationError("--tls-min \(tlsMin.rawValue) is above --tls-max \(tlsMax.rawValue)")
    }
    if gatewayPort == feedbackPort, gatewayPort != 0 {
      throw ValidationError("--gateway-port and --feedback-port are both \(gatewayPort)")
    }
    if let http2Port, http2Port != 0, http2Port == gatewayPort || http2Port == feedbackPort {
      throw ValidationError("--http2-port \(http2Port) is another service's")
    }
    if http2Port == nil, !providerKey.isEmpty {
      throw ValidationError("--provider-key means nothing without --http2-port")
    }
    if let controlPort, controlPort != 0,
      controlPort == gatewayPort || controlPort == feedbackPort || controlPort == http2Port
    {
      throw ValidationError("--control-port \(controlPort) is another service's")
    }
    if let dashboardPort, dashboardPort != 0,
      [gatewayPort, feedbackPort, http2Port, controlPort].contains(dashboardPort)
    {
      throw ValidationError("--dashboard-port \(dashboardPort) is another service's")
    }
    if dashboardPort == nil, !lproj.isEmpty {
      throw ValidationError("--lproj means nothing without --dashboard-port")
    }
    if controlKeeps <= 0 { throw ValidationError("--control-keeps \(controlKeeps) keeps nothing") }
    if topics.contains("") { throw ValidationError("--topic is empty") }
    if topics.count > 1, topics.contains("any") {
      throw ValidationError("--topic any means nothing beside others")
    }
    if certificates.isEmpty { throw ValidationError("--certificates is empty") }
    if let parent, parent <= 0 { throw ValidationError("--parent \(parent) is no process") }
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
      // The page gets its lines at any log level.
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
      http2Port: simulator.http2Port, controlPort: simulator.controlPort, seed: seed,
      certificates: configuration.certificates.absolute)
    try await serveDashboard(simulator, languages, wire, &announcement, logger)
    let totalsQueue = DispatchQueue(label: "totals")
    let onRequest = [SIGUSR1, SIGHUP].map { number in
      SignalWatch(number, on: totalsQueue) {
        StandardStream.output.write(summary(simulator.ledger.totals))
      }
    }
    // Signals may come as soon as this is printed.
    StandardStream.output.write(json ? announcement.json : announcement.text)
    let request = end.request
    let requests = Task {
      for await _ in simulator.shutdownRequests { request("asked to by the control interface") }
    }
    var status = ExitCode.success
    let reason = await end.wait()
    requests.cancel()
    for watch in onRequest { watch.cancel() }
    logger.info("ends: \(reason)")
    let totals = await simulator.stop()
    StandardStream.output.write(summary(totals))
    // A script that relies on a record has to learn that it is incomplete.
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

  /// Starts the page if it is wanted. It ends with the process: browsers reconnect all the time, and
  /// stopping the server under such a connection makes trouble.
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
      throw refusal("\(error.isPort ? "--dashboard-port" : "--dashboard-host"): \(error)")
    }
  }

  /// An IPv6 address may be in brackets, as before a port.
  private static func bare(_ host: String) -> String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  private func summary(_ totals: Totals) -> String { json ? totals.json : totals.text }

  private func configuration(_ logger: Logger) throws -> SimulatedGateway.Configuration {
    var configuration = SimulatedGateway.Configuration(
      certificates: CertificateDirectory(certificates))
    configuration.host = Self.bare(host)
    configuration.gatewayPort = Int(gatewayPort)
    configuration.feedbackPort = Int(feedbackPort)
    configuration.http2Port = http2Port.map(Int.init)
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
    if dashboardPort != nil { configuration.recentPushes = RecentPushes() }
    configuration.rules.checksPayloads = checkPayload
    if !topics.isEmpty { configuration.rules.topic = topics == ["any"] ? .any : .only(topics) }
    configuration.faults = try faults()
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

  /// The file's faults come first, so that the command line can change them.
  private func faults() throws -> FaultRules {
    var faults = FaultRules()
    if let rules { faults = try named("--rules") { try FaultRules(at: rules) } }
    for option in fault {
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
      throw refusal(
        "\(error.isPort || error.service == .control ? "--\(error.service.rawValue)-port" : "--host"): \(error)"
      )
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

  /// Ends as for a wrong option, but without the usage, which would not help with a wrong file.
  private func refusal(_ message: String) -> ExitCode {
    StandardStream.error.write("Error: \(message)\n")
    return .validationFailure
  }
}
