import Client

/// A silent push to a device, to learn whether the service accepts provider, topic and token.
struct PushAttempt {
  private static let about = "push"
  private static let payload = Array(#"{"aps":{"content-available":1}}"#.utf8)

  var token: [UInt8]
  var topic: String?
  var options: PushSession.Options
  var answerMS: Int32
  var isByToken: Bool

  /// The result.
  enum Response {
    case accepted(by: PushAttempt)
    case refused(SendOutcome, Finding)
    /// No response.
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
    var options = options
    options.topic = topic
    options.deliversAtMostOnce = true
    var delivery = Delivery()
    delivery.priority = 5
    do throws(LibraryError) {
      let session = try PushSession(options, credentials: credentials(), delivery: delivery)
      try session.send(SentNotification(number: 1, token: token, isAgain: false), Self.payload)
      try session.flush()
      _ = try session.drain(within: answerMS)
      guard let outcome = try session.next(within: 0) else {
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
