import Client

/// A silent push to a device, to learn whether the service accepts provider, topic and token.
struct PushAttempt {
  private static let about = "push"

  var token: [UInt8]
  var options: PushSession.Options
  var isByToken: Bool

  enum Response {
    case accepted(by: PushAttempt)
    case refused(SendOutcome, Finding)
    case failed(Finding)

    func add(to report: inout Report) {
      switch self {
      case .accepted(let attempt):
        report.fine(
          PushAttempt.about, "accepted a silent push to \(DeviceToken.hex(of: attempt.token))")
      case .refused(_, let finding), .failed(let finding): report.add(finding)
      }
    }
  }

  func send(_ credentials: () throws(LibraryError) -> ProviderCredentials) -> Response {
    let about = Self.about
    do throws(LibraryError) {
      let who = try credentials()
      let outcome = try withExtendedLifetime(who) { () throws(LibraryError) in
        try ServiceProbe(options).push(who.handle, to: token)
      }
      guard let outcome else {
        return .failed(
          .problem(
            "push-unanswered", about, "the service does not respond to a push to this device",
            isByToken
              ? "wait 20 minutes: each run of a program makes a provider token, and a second one within that time gets TooManyProviderTokenUpdates"
              : "try again; the gateway may not answer the sentinel: ask its operator"))
      }
      return outcome.kind == .accepted
        ? .accepted(by: self) : .refused(outcome, ReasonCause.finding(outcome, about: about))
    } catch {
      if let alert = error.alert {
        return .failed(
          AlertCause.finding(
            alert, about: about, AlertCause.Shown(certificate: true, isUnusable: false)))
      }
      return .failed(
        .problem(
          "push-not-sent", about, error.message,
          "check your notification with apns send --dry-run; try again"))
    }
  }
}
