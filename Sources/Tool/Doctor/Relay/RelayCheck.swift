import COpenSSL
import BinaryServer

/// Checks a relay's gateway listeners like a legacy client. It pushes no notification and reads no
/// feedback.
struct RelayCheck {
  var host: String
  var port: UInt16
  var feedbackPort: UInt16
  var httpListener: String?
  /// The program's.
  var credentials: LegacyCredentials?
  var authority: String?
  /// What the program calls the listener.
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
    guard let shown = look(port, option: "port", &report) else { return false }
    shown.run(&report)
    OldTLSCheck(attempt: { attempt($0, port) }, about: about).run(&report)
    talk(about, &report)
    return true
  }

  /// The certificate on that port; nil if it could not be read, which is then in the report.
  private func look(_ port: UInt16, option: String, _ report: inout Report)
    -> ShownCertificateCheck?
  {
    let about = name(port)
    let failure: LegacyConnection.Failure
    do {
      var tls = LegacyConnection.TLS()
      tls.authority = authority
      let connection = try LegacyConnection(socket(port), tls)
      let (certificate, distrust) = (connection.certificate, connection.distrust)
      connection.abandon()
      guard let certificate else { return nil }
      return ShownCertificateCheck(
        certificate: certificate, about: about, name: serverName, authority: authority,
        distrust: distrust)
    } catch let fault as TimedSocket.Fault {
      report.add(
        Finding(
          cause: "listener-unreachable", about: about, message: "no connection: \(fault.text)",
          remedy:
            "'type: binary' has to be among the listeners in relay.yaml, with this \(option); without host it takes connections of its own machine only; a firewall on the way has to let it through"
        ))
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
      Finding(cause: cause, about: about, message: message, remedy: remedy)
    }
    switch failure {
    case .impossible:
      return found("tls-failed", "this machine's OpenSSL cannot try it", "check its configuration")
    case .notTLS:
      return found(
        "not-tls", "what answers there does not speak TLS",
        "check the port: it is that of a binary listener; --http-listener is for an HTTP listener")
    case .refused(let words):
      return found(
        "handshake-refused", "it ends the handshake: \(words)",
        "check the port; see the relay's log, which says why")
    case .closed:
      return found(
        "handshake-closed", "it closes the connection during the handshake",
        "check the port; the listener may have as many connections as it takes (connections)")
    case .timeout:
      return found(
        "handshake-timeout", "it accepts connections but does not answer the handshake",
        "check the port, and that the relay is not stopped; otherwise raise --connect-timeout")
    }
  }

  // MARK: What the program sees

  private static let identifier: UInt32 = 0x6170_6E73
  /// Command 1 with an empty token, which nobody pushes: Apple answered it by status 2.
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
          "a relay lets every certificate through the handshake: check that what answers there is one, and that nothing before it judges certificates"
      }
      return report.add(finding)
    } catch {
      return report.add(
        Finding(
          cause: "listener-unreachable", about: about, message: "the next connection fails",
          remedy: "try again"))
    }
    if tickets > 0 {
      report.add(
        Finding(
          cause: "session-tickets", severity: .warning, about: about,
          message:
            "it sends session tickets, which some old programs take for an error or the end",
          remedy:
            "a relay's listener sends none: turn them off in what answers before it, or connect to the listener itself"
        ))
    }
    told(answer, end, "\(version), \(cipher)", about, &report)
  }

  private func told(
    _ answer: [UInt8], _ end: LegacyConnection.End, _ words: String, _ about: String,
    _ report: inout Report
  ) {
    let packet =
      [8, 2] + withUnsafeBytes(of: Self.identifier.bigEndian) { Array($0) }
    if answer == packet {
      letIn(words, about, &report)
      if end != .closeNotify {
        report.add(
          Finding(
            cause: "abrupt-end", severity: .warning, about: about,
            message:
              "behind the error packet the connection ends without TLS's goodbye: some programs lose the packet by that",
            remedy: "a relay's listener says goodbye: look at what answers before it"))
      }
    } else if answer.isEmpty, end != .timeout {
      turnedAway(about, &report)
    } else if answer.isEmpty {
      report.add(
        Finding(
          cause: "listener-silent", about: about,
          message: "a bad frame is not answered within \(Int(seconds)) s",
          remedy:
            "see the relay's log and /readyz: while its queue cannot be written, the listener does not read"
        ))
    } else {
      let hex = answer.prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
      report.add(
        Finding(
          cause: "no-binary-listener", about: about,
          message: "a bad frame is answered by \(hex.joined()), which no gateway of Apple's did",
          remedy: "check the port: it is that of a binary listener"))
    }
  }

  private func letIn(_ words: String, _ about: String, _ report: inout Report) {
    if let credentials {
      report.fine(
        about,
        "a client with the certificate \(credentials.certificate.subject) is let in (\(words)); a frame without a token is answered by status 2 and its identifier, then the end"
      )
    } else {
      report.add(
        Finding(
          cause: "listener-of-anybody", severity: .warning, about: about,
          message: "whoever reaches this port can push: a client without a certificate is let in",
          remedy:
            "keep the port behind a firewall; 'fingerprints' or 'client_ca' in place of 'app' lets in only who shows a certificate"
        ))
    }
  }

  private func turnedAway(_ about: String, _ report: inout Report) {
    guard let credentials else {
      report.fine(
        about, "a client without a certificate is closed after the handshake, without a word")
      return report.skip(
        about, "whether the old program is let in: give its --certificate, and --key")
    }
    let fingerprint = credentials.certificate.printedFingerprint
    report.add(
      Finding(
        cause: "client-unknown", about: about,
        message:
          "a client with the certificate \(credentials.certificate.subject) is closed after the handshake, without a word: it is nobody's",
        remedy:
          "list its fingerprint under the listener's fingerprints, by the name of its app, and reload the relay: \(fingerprint)"
      ))
  }

  // MARK: Feedback

  /// Without a certificate, and without reading: a list that was read is forgotten.
  private func feedback(_ report: inout Report) -> Bool {
    guard let shown = look(feedbackPort, option: "feedback_port", &report) else { return false }
    report.fine(
      shown.about,
      "the feedback service answers, with \(shown.certificate.subject); its list is not read here, because that clears it"
    )
    return true
  }
}

extension Certificate {
  /// As openssl x509 -fingerprint -sha256 prints it.
  fileprivate var printedFingerprint: String {
    fingerprint.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }
      .joined(separator: ":")
  }
}
