import BinaryServer

/// A listener for the binary interface, which Apple switched off in 2021, for legacy providers.
package struct BinaryListenerConfiguration: Equatable, Sendable {
  package struct TLS: Equatable, Sendable {
    package var certificate: String?
    package var key: String?
    package var min = TLSBound.tls1_2
    package var takesRSA = false
    package var takesDHE = false
    package var takesSHA1 = false
  }

  package var name = ""
  package var host = "127.0.0.1"
  package var port: ListeningPort = 2195
  package var portFile: String?
  package var feedbackPort: ListeningPort? = 2196
  package var feedbackPortFile: String?
  package var app: String?
  /// The app of each client certificate, by its SHA-256 fingerprint in lower-case hex.
  package var fingerprints: [String: String] = [:]
  package var clientCA: String?
  package var tls = TLS()
  /// The path that the names of a created certificate's files begin with.
  package var madeCertificate = ""
  package var payloadMax = 2048
  package var checksJSON = false
  /// nil for any size.
  package var tokenBytes: TokenSizes? = TokenSizes(32)
  package var sendsTokenErrors = true
  package var connections = 10_000
  package var appConnections = 0
  package var addressConnections = 0
  package var feedbackConnections = 1000
  package var handshakes = 1000

  private static let most = 1_000_000

  static let options: [RelayOption<Self>] = [
    RelayOption.text("host", \.host, "the address to listen on").printed { $0.usesHost },
    .listening("port", \.port, "0: a free port; systemd:NAME: a socket unit's"),
    .path("port_file", \.portFile, "file that receives the port"),
    .listening("feedback_port", \.feedbackPort, "the feedback service; -1: none"),
    .path("feedback_port_file", \.feedbackPortFile, "file that receives that port"),
    RelayOption(key: "fingerprints", read: readFingerprints, write: writeFingerprints),
    .file("client_ca", \.clientCA, "CA for client certificates with an app's topic as UID"),
    .text("app", \.app, "every client of the port pushes as this app"),
    .file("certificate", \.tls.certificate, "the server's; default: the relay creates one"),
    .file("key", \.tls.key, "default: in the certificate's file"),
    .value(
      "min_tls", \.tls.min, "1.0, 1.1, 1.2 or 1.3", shown: { OptionText.quoted($0.rawValue) }
    ) { try $0.choice($1, $2) },
    .flag("rsa_key_exchange", \.tls.takesRSA, "for old clients that support nothing else"),
    .flag(
      "dhe_key_exchange", \.tls.takesDHE,
      "finite-field Diffie-Hellman, for clients without elliptic curves"),
    .flag("sha1", \.tls.takesSHA1, "SHA-1 signatures and 1,024-bit keys"),
    .integer("payload_max", \.payloadMax, 1...4096, "bytes; a larger payload gets status 7"),
    .flag("json", \.checksJSON, "true: status 7 for a payload that is not JSON"),
    .value(
      "token_bytes", \.tokenBytes,
      "token sizes, in addition to those that APNs accepted; others get status 5",
      shown: { OptionText.quoted($0?.text ?? "any") }
    ) { section, key, preset in
      guard let text = try section.text(key) else { return preset }
      if text == "any" { return nil }
      guard let sizes = TokenSizes(text), sizes != [] else {
        throw section.fault(
          key,
          "must be sizes from 1 to \(TokenSizes.longest), such as 32 80, or any, not '\(text)'")
      }
      return sizes
    },
    .flag(
      "token_errors", \.sendsTokenErrors,
      "false: no status 5 or 8, for clients that read no error packets"),
    .integer(
      "connections", \.connections, 1...most, "maximum number of provider connections"),
    .integer(
      "app_connections", \.appConnections, 0...most,
      "maximum for one app; 0: all that are not reserved for others"),
    .integer(
      "address_connections", \.addressConnections, 0...most,
      "maximum for one app from one address; 0: three quarters of the app's"),
    .integer(
      "feedback_connections", \.feedbackConnections, 1...most,
      "maximum for feedback_port, in addition"),
    .integer(
      "handshakes", \.handshakes, 1...most,
      "maximum number of pending TLS handshakes, in addition"),
  ]

  private var usesHost: Bool {
    port.socketName == nil || feedbackPort.map { $0.socketName == nil } ?? false
  }

  func check(_ section: ConfigurationSection) throws {
    try section.checkHost(of: [port, feedbackPort])
    if app != nil, clientCA != nil {
      throw section.fault(
        "client_ca", "cannot be combined with app: every client of this port pushes as that app")
    }
    if app == nil, clientCA == nil, fingerprints.isEmpty {
      throw section.fault(
        "fingerprints", "is missing: give it, client_ca or app, or no client is accepted")
    }
    if tls.key != nil, tls.certificate == nil {
      throw section.fault("key", "is set without a certificate")
    }
    // Files are named after the listener.
    if name.contains("/") {
      throw section.fault("type", "the name of a binary listener must not contain '/'")
    }
  }

  private static let writeFingerprints: @Sendable (Self, inout OptionText) -> Void = {
    let apps = Dictionary(grouping: $0.fingerprints.sorted { $0.key < $1.key }, by: \.value)
    $1.say("fingerprints", apps.isEmpty ? "{}" : nil, "the app of each client certificate")
    $1.deeper { text in
      for (app, own) in apps.sorted(by: { $0.key < $1.key }) {
        text.say(
          app, OptionText.quoted(own.map(\.key).joined(separator: " ")),
          "SHA-256 fingerprints of its clients' certificates")
      }
    }
  }

  private static let readFingerprints: @Sendable (ConfigurationSection, inout Self) throws -> Void =
    { section, listener in
      guard let section = try section.section("fingerprints") else { return }
      for app in section.keys {
        for word in (try section.text(app) ?? "").split(whereSeparator: { $0 == " " || $0 == "," })
        {
          guard let fingerprint = CertificateFingerprint.read(word) else {
            throw section.fault(
              app,
              "'\(word)' is not a SHA-256 fingerprint of 64 hex digits; get it with: "
                + "openssl x509 -noout -fingerprint -sha256 -in FILE")
          }
          if let other = listener.fingerprints[fingerprint], other != app {
            throw section.fault(app, "'\(word)' is listed for \(other) too")
          }
          listener.fingerprints[fingerprint] = app
        }
      }
      try section.end()
    }
}
