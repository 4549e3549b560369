import APNSLibrary
import CAPNS

/// Finds the Apple environment that knows a device token.
struct TokenEnvironment {
  /// The other one's, where the push may go as well.
  var other: ServicePlace
  var own: ServicePlace
  /// Pushes to the other one.
  var attempt: PushAttempt

  /// After the first environment's answer, which the push was made for.
  func judge(
    _ first: PushAttempt.Answer, _ report: inout Report,
    _ credentials: () throws(LibraryError) -> ProviderCredentials
  ) {
    if case .accepted = first {
      first.tell(&report)
      report.fine("token", "of \(Self.name(own)), which accepts a push to it")
      return
    }
    guard case .refused(let refusal, let finding) = first, refusal.reason == "BadDeviceToken" else {
      first.tell(&report)
      return
    }
    switch attempt.answer(credentials) {
    case .accepted:
      report.add(
        Finding(
          cause: "token-of-other-environment", about: "token",
          message:
            "\(Self.name(own)) does not know it (BadDeviceToken), and \(Self.name(other)) accepts a push to it",
          remedy: remedy))
    case .refused(let second, _) where second.reason == "BadDeviceToken":
      report.add(
        Finding(
          cause: finding.cause, about: finding.about,
          message: "rejected: BadDeviceToken, in \(Self.name(own)) and in \(Self.name(other))",
          remedy: "apns token finds typing errors; otherwise have the app send its token again"))
    case .refused(let second, _):
      first.tell(&report)
      report.skip(
        "token", "its environment is not known: \(Self.name(other)) answers \(second.reason)")
    case .failed(let fault):
      first.tell(&report)
      report.skip(
        "token",
        "its environment is not known: \(Self.name(other)) gave no answer, \(fault.message)")
    }
  }

  private var remedy: String {
    switch other.host {
    case APNS_HOST_SANDBOX:
      "push to it with --sandbox: Xcode installed the app, and its tokens are of the sandbox"
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
