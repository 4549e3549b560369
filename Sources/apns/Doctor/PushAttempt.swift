import APNSLibrary

/// One silent push to a device, for the service's word on who pushes and where to.
struct PushAttempt {
  private static let payload = Array(#"{"aps":{"content-available":1}}"#.utf8)

  var token: [UInt8]
  var topic: String?
  var options: PushSession.Options
  var answerMS: Int32
  var isByToken: Bool

  func run(_ report: inout Report, _ credentials: () throws(LibraryError) -> ProviderCredentials) {
    let about = "push"
    var options = options
    options.topic = topic
    options.reportsAmbiguous = true
    var delivery = Delivery()
    delivery.priority = 5
    do throws(LibraryError) {
      let session = try PushSession(options, credentials: credentials(), delivery: delivery)
      try session.send(SentNotification(number: 1, token: token, isAgain: false), Self.payload)
      try session.flush()
      _ = try session.drain(within: answerMS)
      guard let outcome = try session.next(within: 0) else {
        report.add(
          Finding(
            cause: "push-unanswered", about: about,
            message: "the service says nothing of a push to this device",
            remedy: isByToken
              ? "wait 20 minutes: who made another provider token less long ago is answered TooManyProviderTokenUpdates until then, each run of a program makes one"
              : "try again; a gateway may not answer what proves it: ask its operator"))
        return
      }
      switch outcome.kind {
      case .accepted:
        report.fine(about, "accepted, a silent one to \(DeviceToken.hex(of: token))")
      default: report.add(ReasonCause.finding(outcome, about: about))
      }
    } catch {
      if let alert = error.alert {
        report.add(
          AlertCause.finding(
            alert, about: about, AlertCause.Shown(certificate: true, isUnusable: false)))
      } else {
        report.add(
          Finding(
            cause: "push-not-sent", about: about, message: error.message,
            remedy: "apns send --dry-run checks what is to be sent; try again"))
      }
    }
  }
}
