import ArgumentParser
import CAPNS

struct APNSCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns", abstract: "Push notifications to Apple devices: tools for providers.",
    discussion: """
      Each command's --help begins with a working example.

      \(Exit.text)
      """,
    version: version(of: "apns"),
    subcommands: [
      Send.self, ChannelCommand.self, FeedbackCommand.self, Doctor.self, Payload.self, Token.self,
      Simulate.self, Record.self, RelayStart.self, EnqueueStart.self, Completions.self,
    ])

  static func version(of program: String) -> String {
    "\(program) \(String(cString: apns_version()))"
  }
}
