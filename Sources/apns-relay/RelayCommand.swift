import APNSLibrary
import ArgumentParser
import CAPNS
import CProcess
import Foundation
import Logging
import Relay

@main
struct RelayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns-relay",
    abstract: "Push what is in a queue, and lose nothing over a crash.",
    discussion: """
      A producer writes notifications into a queue, a file of SQLite or a Redis. The relay pushes them and \
      acknowledges each when its outcome is recorded there.

          apns relay --print-config > relay.yaml     every option, to be filled in
          apns relay --config relay.yaml --check     tries queue, credentials and services
          apns relay --config relay.yaml             runs until SIGTERM; SIGHUP reloads
          apns enqueue --config relay.yaml --app shop --alert Hello 5f79cfda4d01aa3a
          apns relay guard --config relay.yaml       why a binary listener forgets bad tokens

      EXIT STATUS: 0 if it ended in order; 1 if a check found a fault; 2 if the command line, the \
      configuration, the credentials or the queue cannot be used.
      """,
    version: "apns-relay \(String(cString: apns_version()))",
    subcommands: [Run.self, Enqueue.self, GuardState.self], defaultSubcommand: Run.self)

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      let status = exitCode(for: error)
      let message = fullMessage(for: error)
      if status == .success {
        print(message)
      } else if !message.isEmpty {
        tell(message)
      }
      exit(withError: status == .validationFailure ? ExitCode(2) : status)
    }
  }

  static func refusal(_ message: String) -> ExitCode {
    tell("Error: \(message)")
    return ExitCode(2)
  }

  /// Removes secrets that the message may quote.
  private static func tell(_ message: String) {
    let text = Redaction.of(message, given: CommandLine.arguments)
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run the relay.")

  @Option(help: ConfigurationFile.help)
  var config: String?

  @Flag(help: "Print every option with its meaning, and its value in --config if that is given.")
  var printConfig = false

  @Flag(help: "Print the queue's tables, for a producer that makes the file by itself.")
  var printSchema = false

  @Flag(
    help: """
      Try queue and credentials, connect to the service of each app, and push nothing. Faults and \
      warnings are lines that begin with their place; the last lines say what was not tried.
      """)
  var check = false

  @Flag(help: "With --check: push to a device that cannot be, too. Nobody gets it.")
  var tryPush = false

  @Flag(help: "With --check: connect to no service.")
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
    let wanted: RelayConfiguration
    do {
      wanted = try ConfigurationReader.read(config)
    } catch {
      throw RelayCommand.refusal("\(error)")
    }
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
    let (faults, warnings) = RelayDaemon.check(
      wanted, trying: tryPush ? .push : offline ? .files : .connection)
    for fault in faults { print(fault) }
    for warning in warnings { print("warning: \(warning)") }
    guard faults.isEmpty else {
      print("not tried: what comes behind a fault")
      throw ExitCode(1)
    }
    let names = wanted.apps.map(\.name).joined(separator: ", ")
    let credentials = "the credentials of \(names) can be used"
    let services = "the services \(tryPush ? "take their pushes" : "answer over HTTP/2")"
    print(
      "ok: the queue can be written"
        + (offline ? ", and \(credentials)" : ", \(credentials), and \(services)"))
    if offline { print("not tried: the services, to which nothing was connected (--offline)") }
    if !offline, !tryPush {
      print(
        "not tried: a push, which alone shows what a service says of token and topic "
          + "(--try-push)")
    }
    if !wanted.listeners.isEmpty { print("not tried: whether the listeners' ports are free") }
  }

  private func push(_ wanted: RelayConfiguration, _ file: String) throws {
    process_forbid_dumps()
    process_end_at_abort()
    let signals = RelaySignals()
    let level = Logger.Level(rawValue: wanted.log.level.rawValue) ?? .info
    let log = Logger(label: "apns-relay") {
      RelayLog(label: $0, level: level, isJSON: wanted.log.format == .json)
    }
    do {
      try RelayDaemon(wanted, file: file, queue: wanted.queue.open(), log: log).run(signals)
    } catch {
      log.critical("\(error)")
      throw ExitCode(2)
    }
  }
}
