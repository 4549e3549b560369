import ArgumentParser
import CommandOptions

struct EnqueueStart: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "enqueue",
    abstract: "Put notifications into a relay's queue.",
    discussion: """
      Starts the separate program apns-relay (Documentation/RELAY.md) with these options:

          apns enqueue --config relay.yaml --app shop --id sale-1 --alert Hello 5f79cfda4d01aa3a

      EXIT STATUS: 0 if everything is in the queue; 2 if the command line, a file or the queue \
      cannot be used, or if apns-relay is missing.
      """)

  @Argument(
    parsing: .captureForPassthrough,
    help: .of("option", "Arguments for apns-relay; see --help."))
  var options: [String] = []

  func run() throws { throw RelayProgram.become(["enqueue"] + options) }
}
