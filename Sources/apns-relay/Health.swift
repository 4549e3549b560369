import ArgumentParser
import Foundation
import Relay

struct Health: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "health",
    abstract: "Ask the running relay whether it works.",
    discussion: """
      For probes of containers, which have no other program. It asks the relay's status page, whose \
      address is in the configuration, and prints a line. No response within 10 seconds is a failure.

          apns-relay health              fails if no relay runs, or a worker hangs: a restart helps
          apns-relay health --ready      fails also if the queue or the service is unreachable

      EXIT STATUS: 0 if the relay works; 1 if not, or if the configuration names no page; 2 if the \
      command line is invalid.
      """)

  @Option(help: ConfigurationFile.help)
  var config: String?

  @Flag(help: "Ask whether it can deliver (/readyz), not only whether it works (/healthz).")
  var ready = false

  func run() throws {
    do {
      let status = try ConfigurationReader.status(ConfigurationFile.demanded(config))
      let response = try StatusQuery(host: status.host, port: Self.port(of: status))
        .get(ready ? "/readyz" : "/healthz")
      print(response.body.split(whereSeparator: \.isNewline).joined(separator: "; "))
      guard response.status == 200 else { throw ExitCode(1) }
    } catch let error where !(error is ExitCode) {
      print("\(error)")
      throw ExitCode(1)
    }
  }

  private static func port(of status: RelayConfiguration.Status) throws -> Int {
    guard let port = status.port else {
      throw RelayFault("status.port is -1: there is no page to ask")
    }
    if case .number(let number) = port, number > 0 { return number }
    guard let file = status.portFile else {
      throw RelayFault("status.port is not a number: status.port_file is needed too, which has it")
    }
    guard let text = try? String(contentsOfFile: file, encoding: .utf8),
      let number = Int(text.trimmingCharacters(in: .whitespacesAndNewlines))
    else { throw RelayFault("status.port_file: \(file) has no port: no relay has written it") }
    return number
  }
}
