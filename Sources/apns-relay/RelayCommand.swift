import ArgumentParser
import CAPNS
import CProcess
import Client
import Foundation
import Logging
import Relay

@main
struct RelayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns-relay",
    abstract: "Deliver notifications from a durable queue.",
    discussion: """
      A producer writes notifications into a queue, a SQLite file or Redis. The relay pushes them and \
      records their outcomes there. A crash loses nothing.

          apns relay --print-config > relay.yaml     prints every option, to fill in
          apns relay --config relay.yaml --check     tries queue, credentials and services
          apns relay --config relay.yaml             runs until SIGTERM; SIGHUP reloads
          apns enqueue --config relay.yaml --app shop --alert Hello 5f79cfda4d01aa3a
          apns relay list --config relay.yaml        lists campaigns; pause, resume, cancel: each of one
          apns relay guard --config relay.yaml       shows whether bad tokens are ignored, and why
          apns relay health --config relay.yaml      asks the running relay whether it works
          apns relay outcomes --follow               prints the notifications' outcomes as they come
          apns relay dead                            prints dead letters and their histories
          apns relay retry --id order-4711           gives a dead letter back to the queue
          apns relay discard --older-than 30d        ends dead letters for good

      EXIT STATUS: 0 after a graceful end; 1 if a check found an error; 2 if the command line, the \
      configuration, the credentials or the queue cannot be used.
      """,
    version: "apns-relay \(String(cString: apns_version()))",
    subcommands: [
      Run.self, Enqueue.self, ListCommand.self, ShowCommand.self, PauseCommand.self,
      ResumeCommand.self, LimitCommand.self, CancelCommand.self, Outcomes.self, DeadLetters.self,
      Retry.self,
      Discard.self, GuardState.self, Health.self,
    ], defaultSubcommand: Run.self)

  static func main() {
    var status = ExitCode.success
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      status = exitCode(for: error)
      let message = fullMessage(for: error)
      if status == .success {
        print(message)
      } else if !message.isEmpty {
        report(message)
      }
      if status == .validationFailure { status = ExitCode(2) }
    }
    // Not exit(), which takes OpenSSL apart while threads may still read from a queue over TLS.
    fflush(nil)
    _exit(status.rawValue)
  }

  static func refusal(_ message: String) -> ExitCode {
    report("Error: \(message)")
    return ExitCode(2)
  }

  /// A failure of `act` is a refusal.
  static func refusing<Result>(_ act: () throws -> Result) throws -> Result {
    do { return try act() } catch { throw (error as? ExitCode) ?? refusal("\(error)") }
  }

  /// Removes secrets that the message may quote.
  static func report(_ message: String) {
    let text = Redaction.of(message, given: CommandLine.arguments)
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run the relay.")

  @Option(help: ConfigurationFile.help)
  var config: String?

  @Flag(help: "Print every option with its meaning, and with its value if --config is given.")
  var printConfig = false

  @Flag(help: "Print the queue's tables in SQL, for a producer that creates the file.")
  var printSchema = false

  @Flag(
    help: """
      Test queue and credentials, connect to APNs for each app, and push nothing. Errors and \
      warnings are lines that begin with their place; the last lines list what was not tried.
      """)
  var check = false

  @Flag(help: "With --check: also push to an impossible device. No device receives it.")
  var tryPush = false

  @Flag(help: "With --check: make no connection to APNs.")
  var offline = false

  func validate() throws {
    if tryPush || offline, !check {
      throw ValidationError("\(tryPush ? "--try-push" : "--offline") is for --check")
    }
    if tryPush, offline { throw ValidationError("--try-push cannot be used with --offline") }
  }

  func run() throws {
    if printSchema {
      print(SQLiteSchema.text, terminator: "")
      return
    }
    if printConfig, config == nil {
      print(ConfigurationText.text(of: ConfigurationText.example), terminator: "")
      return
    }
    let config = try ConfigurationFile.demanded(config)
    let wanted = try RelayCommand.refusing { try ConfigurationReader.read(config) }
    if printConfig {
      print(ConfigurationText.text(of: wanted), terminator: "")
      return
    }
    if check {
      try check(wanted)
      return
    }
    try push(wanted, config)
  }

  private func check(_ wanted: RelayConfiguration) throws {
    let (faults, warnings) = ConfigurationTrial.run(
      wanted, trying: tryPush ? .push : offline ? .files : .connection)
    for fault in faults { print(fault) }
    for warning in warnings { print("warning: \(warning)") }
    guard faults.isEmpty else {
      print("not tried: everything after an error")
      throw ExitCode(1)
    }
    let names = wanted.apps.map(\.name).joined(separator: ", ")
    let credentials = "the credentials of \(names) can be used"
    let services = "the services \(tryPush ? "respond to their pushes" : "respond over HTTP/2")"
    print(
      "ok: the queue can be written"
        + (offline ? ", and \(credentials)" : ", \(credentials), and \(services)"))
    if offline { print("not tried: the services, because of --offline") }
    if !offline, !tryPush {
      print(
        "not tried: a push, which alone shows whether token and topic are accepted "
          + "(--try-push)")
    }
    if !wanted.listeners.isEmpty { print("not tried: whether the listeners' ports are free") }
  }

  private func push(_ wanted: RelayConfiguration, _ file: String) throws {
    process_forbid_dumps()
    process_end_at_abort()
    let sockets = PassedSockets()
    let signals = RelaySignals()
    let log = Logger(label: "apns-relay") { _ in
      RelayLog(level: wanted.log.level, isJSON: wanted.log.format == .json)
    }
    do {
      try RelayDaemon(
        wanted, file: file, queue: wanted.queue.open(), log: log, sockets: sockets
      ).run(signals)
    } catch {
      log.critical("\(error)")
      throw ExitCode(2)
    }
  }
}
