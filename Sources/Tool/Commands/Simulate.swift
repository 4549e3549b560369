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

  @OptionGroup var options: SimulatorOptions

  func run() async throws {
    let end = EndOfRun(parent: options.parent)
    OpenFiles.raiseLimit()
    let wire = ConnectionLog()
    let logger = logger(wire)
    let configuration = try options.configuration(logger)
    let languages = try options.languages()
    let simulator = try await start(configuration, logger)
    var announcement = Announcement(
      host: SimulatorOptions.bare(options.host), gatewayPort: simulator.gatewayPort,
      feedbackPort: simulator.feedbackPort,
      http2Port: simulator.http2Port, channelsPort: simulator.channelsPort,
      controlPort: simulator.controlPort, seed: options.seed,
      certificates: configuration.certificates.absolute)
    try await serveDashboard(simulator, languages, wire, &announcement, logger)
    let totalsQueue = DispatchQueue(label: "totals")
    let onRequest = [SIGUSR1, SIGHUP].map { number in
      SignalWatch(number, on: totalsQueue) {
        StandardStream.output.write(summary(simulator.ledger.totals))
      }
    }
    // Signals may arrive as soon as this is printed.
    StandardStream.output.write(options.json ? announcement.json : announcement.text)
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

  private func logger(_ wire: ConnectionLog) -> Logger {
    let level = options.logLevel
    @Sendable func handler(_ label: String) -> StreamLogHandler {
      var handler = StreamLogHandler.standardError(label: label)
      handler.logLevel = level
      return handler
    }
    LoggingSystem.bootstrap(handler)
    guard options.dashboardPort != nil else { return Logger(label: "apns") }
    // The page gets log lines at any log level.
    return Logger(label: "apns") { MultiplexLogHandler([handler($0), wire.handler()]) }
  }

  /// Starts the page if requested. It ends with the process: browsers reconnect all the time, and
  /// stopping the server during a connection is error-prone.
  private func serveDashboard(
    _ simulator: SimulatedGateway, _ languages: Languages, _ wire: ConnectionLog,
    _ announcement: inout Announcement, _ logger: Logger
  ) async throws {
    guard let port = options.dashboardPort else { return }
    var page = DashboardServer.Configuration(
      host: SimulatorOptions.bare(options.dashboardHost), port: Int(port))
    page.languages = languages
    page.gateway = String(announcement.json.dropLast())
    do {
      announcement.dashboardPort = try await DashboardServer.start(
        page, simulator: simulator, wire: wire)
      announcement.dashboardHost = SimulatorOptions.bare(options.dashboardHost)
    } catch let error as ListenError {
      _ = await simulator.stop()
      throw Exit.refusal("\(error)")
    }
  }

  private func summary(_ totals: Totals) -> String { options.json ? totals.json : totals.text }

  private func start(
    _ configuration: SimulatedGateway.Configuration, _ logger: Logger
  ) async throws -> SimulatedGateway {
    do {
      return try await SimulatedGateway.start(configuration, logger: logger)
    } catch let error as CertificateError {
      throw Exit.refusal("--certificates: \(error)")
    } catch let error as JSONError {
      throw Exit.refusal("--fault or --rules: \(error.message)")
    } catch let error as ListenError {
      throw Exit.refusal("\(error)")
    }
  }
}
