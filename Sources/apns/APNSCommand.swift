import ArgumentParser

@main
struct APNSCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns", abstract: "Push notifications to Apple devices: tools for providers.",
    subcommands: [Simulate.self])
}
