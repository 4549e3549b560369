import ArgumentParser
import Foundation
import Relay

struct GuardState: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "guard",
    abstract: "Show whether bad tokens are ignored, or override that.",
    discussion: """
      A binary listener records bad tokens and reports them as feedback: its clients delete them. \
      BadDeviceToken and DeviceTokenNotForTopic may only mean the wrong environment. So the \
      bad-token guard ignores them before an app had its first 200, and while too many come.

          apns-relay guard                                       shows whether there is an alarm, and why
          apns-relay guard --override shop                       accepts bad tokens for a day
          apns-relay guard --config relay.yaml --no-override shop  ends that

      EXIT STATUS: 0 without an alarm, or once the override is set; 1 with an alarm; 2 if the \
      configuration or the queue cannot be used.
      """)

  @Option(help: ConfigurationFile.help)
  var config: String?

  @Option(
    name: .customLong("override"),
    help: .of("app", "Accept this app's bad tokens despite the guard."))
  var overriding: String?

  @Option(help: .of("n", "The duration of the override."))
  var hours = 24.0

  @Option(name: .customLong("no-override"), help: .of("app", "End this app's override."))
  var notOverriding: String?

  func validate() throws {
    if overriding != nil, notOverriding != nil {
      throw ValidationError("give either --override or --no-override")
    }
    guard hours > 0, hours <= 8760 else { throw ValidationError("--hours must be 1 to 8760") }
  }

  func run() throws {
    if try RelayCommand.refusing(act) { throw ExitCode(1) }
  }

  private func act() throws -> Bool {
    let wanted = try ConfigurationFile.read(config)
    let queue = try wanted.queue.open()
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    if let app = overriding ?? notOverriding {
      guard wanted.apps.contains(where: { $0.name == app }) else {
        let names = wanted.apps.map(\.name).joined(separator: ", ")
        throw RelayCommand.refusal("the configuration has no app '\(app)': \(names)")
      }
      let until = overriding == nil ? 0 : now + Int64(hours * 3_600_000)
      try SharedGuardState(queue, app: app).setOverride(until: until)
      print(
        until == 0
          ? "\(app): the guard decides again"
          : "\(app): bad tokens count until \(TimeText.of(until))")
      return false
    }
    var isAlarmed = false
    for app in wanted.apps {
      let state = SharedGuardState(queue, app: app.name)
      let until = try state.overriddenUntil()
      if until > now {
        print(
          "\(app.name): bad tokens count until \(TimeText.of(until)), because an operator overrides the guard"
        )
      } else if let alarm = try state.alarm() {
        isAlarmed = true
        print("\(app.name): \(alarm)")
      } else {
        print("\(app.name): no alarm")
      }
    }
    return isAlarmed
  }
}
