import BinaryServer
import Client

/// Checks a relay's gateway listeners like a legacy client. It pushes no notification and reads no
/// feedback.
struct RelayCheck {
  var host: String
  var port: UInt16
  var feedbackPort: UInt16
  var httpListener: String?
  var credentials: LegacyCredentials?
  var caFile: String?
  /// The host name that the program uses.
  var serverName: String
  var seconds: Double

  private func name(_ port: UInt16) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  func run(_ report: inout Report) {
    OldNameCheck(host: host).run(&report)
    report.isReachable = gateway(&report)
    if !feedback(&report) { report.isReachable = false }
    if let httpListener, !HTTPListenerCheck(place: httpListener, seconds: seconds).run(&report) {
      report.isReachable = false
    }
  }

  private func socket(_ port: UInt16) throws(TimedSocket.Fault) -> TimedSocket {
    try .connect(host: host, port: port, seconds: seconds)
  }

  private func attempt(_ tls: LegacyConnection.TLS, _ port: UInt16) -> LegacyConnection.Failure? {
    guard let socket = try? socket(port) else { return .closed }
    do throws(LegacyConnection.Failure) {
      let connection = try LegacyConnection(socket, tls)
      connection.abandon()
      return nil
    } catch {
      return error
    }
  }

  // MARK: The gateway

  private func gateway(_ report: inout Report) -> Bool {
    let about = name(port)
    guard let shown = certificate(port, option: "port", &report) else { return false }
    shown.run(&report)
    OldTLSCheck(attempt: { attempt($0, port) }, about: about).run(&report)
    talk(about, &report)
    return true
  }

  /// The certificate on that port; nil if it could not be read, which is then in the report.
  private func certificate(_ port: UInt16, option: String, _ report: inout Report)
    -> ShownCertificateCheck?
  {
    let about = name(port)
    let failure: LegacyConnection.Failure
    do {
      var tls = LegacyConnection.TLS()
      tls.caFile = caFile
      let connection = try LegacyConnection(socket(port), tls)
      let (certificate, distrust) = (connection.certificate, connection.distrust)
      connection.abandon()
      guard let certificate else { return nil }
      return ShownCertificateCheck(
        certificate: certificate, about: about, name: serverName, caFile: caFile,
        distrust: distrust)
    } catch let fault as TimedSocket.Fault {
      report.problem(
        "listener-unreachable", about, "no connection: \(fault.text)",
        "relay.yaml must have a listener with 'type: binary' and this \(option); without host it accepts connections from its own machine only; firewalls must allow the port"
      )
      return nil
    } catch let error as LegacyConnection.Failure {
      failure = error
    } catch {
      return nil
    }
    report.add(Self.finding(failure, about))
    return nil
  }

  private static func finding(_ failure: LegacyConnection.Failure, _ about: String) -> Finding {
    func found(_ cause: String, _ message: String, _ remedy: String) -> Finding {
      .problem(cause, about, message, remedy)
    }
    switch failure {
    case .impossible:
      return found(
        "tls-failed", "this machine's OpenSSL does not support it", "check its configuration")
    case .notTLS:
      return found(
        "not-tls", "the server at this port does not speak TLS",
        "check the port: it must be a binary listener's; --http-listener is for an HTTP listener")
    case .refused(let words):
      return found(
        "handshake-refused", "it ends the handshake: \(words)",
        "check the port; see the relay's log for the reason")
    case .closed:
      return found(
        "handshake-closed", "it closes the connection during the handshake",
        "check the port; the listener may have reached its limit (connections)")
    case .timeout:
      return found(
        "handshake-timeout", "it accepts connections but does not answer the handshake",
        "check the port, and that the relay is not suspended; otherwise raise --connect-timeout")
    }
  }

  // MARK: What the program sees

  private static let identifier: UInt32 = 0x6170_6E73
  /// Command 1 with an empty token, which is never pushed. Apple answered it with status 2.
  private static let badFrame: [UInt8] =
    [1, 0x61, 0x70, 0x6E, 0x73, 0, 0, 0, 0, 0, 0, 0, 2, 0x7B, 0x7D]

  private func talk(_ about: String, _ report: inout Report) {
    var tls = LegacyConnection.TLS()
    tls.credentials = credentials
    let answer: [UInt8]
    let end: LegacyConnection.End
    let (tickets, version, cipher): (Int, String, String)
    do {
      let connection = try LegacyConnection(socket(port), tls)
      (version, cipher) = (connection.version, connection.cipher)
      (answer, end) = connection.talk(Self.badFrame)
      tickets = connection.ticketCount
      connection.abandon()
    } catch let error as LegacyConnection.Failure {
      var finding = Self.finding(error, about)
      if credentials != nil {
        finding.message = "with this certificate, " + finding.message
        finding.cause = "client-refused"
        finding.remedy =
          "a relay accepts every certificate in the handshake: check that a relay listens there, and that no proxy in front of it checks certificates"
      }
      return report.add(finding)
    } catch {
      return report.problem("listener-unreachable", about, "the next connection fails", "try again")
    }
    if tickets > 0 {
      report.warning(
        "session-tickets", about,
        "it sends session tickets, which some legacy programs take for an error packet or a close",
        "a relay's listener sends none: turn them off in the proxy in front of it, or connect to the listener directly"
      )
    }
    evaluate(answer, end, "\(version), \(cipher)", about, &report)
  }

  private func evaluate(
    _ answer: [UInt8], _ end: LegacyConnection.End, _ words: String, _ about: String,
    _ report: inout Report
  ) {
    let packet =
      [8, 2] + withUnsafeBytes(of: Self.identifier.bigEndian) { Array($0) }
    if answer == packet {
      accepted(words, about, &report)
      if end != .closeNotify {
        report.warning(
          "abrupt-end", about,
          "after the error packet the connection ends without close_notify, so some programs lose the packet",
          "a relay's listener sends close_notify: check the proxy in front of it")
      }
    } else if answer.isEmpty, end != .timeout {
      disconnected(about, &report)
    } else if answer.isEmpty {
      report.problem(
        "listener-silent", about, "a bad frame is not answered within \(Int(seconds)) s",
        "see the relay's log and /readyz: while its queue cannot be written, the listener does not read"
      )
    } else {
      report.problem(
        "no-binary-listener", about,
        "it answers a bad frame with \(DeviceToken.hex(of: Array(answer.prefix(16)))), unlike Apple's gateway",
        "check the port: it must be a binary listener's")
    }
  }

  private func accepted(_ words: String, _ about: String, _ report: inout Report) {
    if let credentials {
      report.fine(
        about,
        "a client with the certificate \(credentials.certificate.subject) is accepted (\(words)); a frame without a token gets status 2 with its identifier, then the connection closes"
      )
    } else {
      report.warning(
        "listener-of-anybody", about,
        "anyone who can reach this port can push: a client without a certificate is accepted",
        "protect the port with a firewall; 'fingerprints' or 'client_ca' instead of 'app' requires a certificate"
      )
    }
  }

  private func disconnected(_ about: String, _ report: inout Report) {
    guard let credentials else {
      report.fine(
        about, "a client without a certificate is disconnected after the handshake")
      return report.skip(
        about, "whether the legacy program is accepted: give its --certificate, and --key")
    }
    let fingerprint = credentials.certificate.printedFingerprint
    report.problem(
      "client-unknown", about,
      "a client with the certificate \(credentials.certificate.subject) is disconnected after the handshake: the certificate belongs to no app",
      "list its fingerprint under the listener's fingerprints, with the name of its app, and reload the relay: \(fingerprint)"
    )
  }

  // MARK: Feedback

  /// Connects without a certificate and reads nothing, because reading a list clears it.
  private func feedback(_ report: inout Report) -> Bool {
    guard let shown = certificate(feedbackPort, option: "feedback_port", &report) else {
      return false
    }
    report.fine(
      shown.about,
      "the feedback service responds, with \(shown.certificate.subject); its list is not read, because reading clears it"
    )
    return true
  }
}

extension Certificate {
  /// In the format of openssl x509 -fingerprint -sha256.
  fileprivate var printedFingerprint: String {
    fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }
}
