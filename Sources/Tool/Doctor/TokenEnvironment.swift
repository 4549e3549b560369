import CAPNS
import Client

/// Finds the Apple environment that knows a device token.
struct TokenEnvironment {
  var other: ServicePlace
  var own: ServicePlace
  var attempt: PushAttempt

  /// Evaluates the response of the first environment.
  func evaluate(
    _ first: PushAttempt.Response, _ report: inout Report,
    _ credentials: () throws(LibraryError) -> ProviderCredentials
  ) {
    if case .accepted = first {
      first.add(to: &report)
      report.fine("token", "belongs to \(Self.name(own)), which accepts a push to it")
      return
    }
    guard case .refused(let refusal, let finding) = first, refusal.reason == "BadDeviceToken" else {
      first.add(to: &report)
      return
    }
    switch attempt.send(credentials) {
    case .accepted:
      report.problem(
        "token-of-other-environment", "token",
        "\(Self.name(own)) does not know it (BadDeviceToken), and \(Self.name(other)) accepts a push to it",
        remedy)
    case .refused(let second, _) where second.reason == "BadDeviceToken":
      report.problem(
        finding.cause, finding.about,
        "rejected: BadDeviceToken, in \(Self.name(own)) and in \(Self.name(other))",
        "check the token with apns token; otherwise have the app send its token again")
    case .refused(let second, _):
      first.add(to: &report)
      report.skip(
        "token", "its environment is unknown: \(Self.name(other)) responds with \(second.reason)")
    case .failed(let fault):
      first.add(to: &report)
      report.skip(
        "token",
        "its environment is unknown: \(Self.name(other)) did not respond: \(fault.message)")
    }
  }

  private var remedy: String {
    switch other.host {
    case APNS_HOST_SANDBOX:
      "push to it with --sandbox: Xcode installed the app, so its tokens belong to the sandbox"
    case APNS_HOST_PRODUCTION:
      "push to it without --sandbox: TestFlight, the App Store or a company installed the app"
    default: "push to it with --host \(other.name)"
    }
  }

  private static func name(_ place: ServicePlace) -> String {
    switch place.host {
    case APNS_HOST_SANDBOX: "the sandbox"
    case APNS_HOST_PRODUCTION: "production"
    default: place.name
    }
  }
}
