import BinaryServer
import Foundation

/// Reads a binary listener from a configuration file.
enum BinaryListenerReader {
  /// `queue` is the path of a queue file; "" for other queues.
  static func listener(
    _ name: String, _ section: ConfigurationSection, apps: [AppConfiguration], queue: String
  ) throws -> BinaryListenerConfiguration {
    var listener = BinaryListenerConfiguration()
    listener.name = name
    listener.host = try section.text("host") ?? listener.host
    listener.port = try section.integer("port", listener.port, 0...65535)
    listener.portFile = try section.path("port_file")
    let feedback = try section.integer("feedback_port", listener.feedbackPort ?? -1, -1...65535)
    listener.feedbackPort = feedback < 0 ? nil : feedback
    listener.feedbackPortFile = try section.path("feedback_port_file")
    listener.app = try section.text("app")
    if let clients = try section.section("fingerprints") {
      listener.fingerprints = try fingerprints(clients, apps)
    }
    listener.clientCA = try section.file("client_ca")
    if listener.app != nil, listener.clientCA != nil {
      throw section.fault(
        "client_ca", "cannot be combined with app: every client of this port pushes as that app")
    }
    if listener.app == nil, listener.clientCA == nil, listener.fingerprints.isEmpty {
      throw section.fault(
        "fingerprints", "is missing: give it, client_ca or app, or no client is accepted")
    }
    listener.tls.certificate = try section.file("certificate")
    listener.tls.key = try section.file("key")
    if listener.tls.key != nil, listener.tls.certificate == nil {
      throw section.fault("key", "is set without a certificate")
    }
    listener.tls.min = try section.choice("min_tls", listener.tls.min)
    listener.tls.takesRSA = try section.flag("rsa_key_exchange", listener.tls.takesRSA)
    listener.tls.takesDHE = try section.flag("dhe_key_exchange", listener.tls.takesDHE)
    listener.tls.takesSHA1 = try section.flag("sha1", listener.tls.takesSHA1)
    listener.payloadMax = try section.integer("payload_max", listener.payloadMax, 1...4096)
    listener.checksJSON = try section.flag("json", listener.checksJSON)
    if let text = try section.text("token_bytes") { listener.tokenBytes = try sizes(text, section) }
    listener.sendsTokenErrors = try section.flag("token_errors", listener.sendsTokenErrors)
    let most = 1_000_000
    listener.connections = try section.integer("connections", listener.connections, 1...most)
    listener.appConnections = try section.integer(
      "app_connections", listener.appConnections, 0...most)
    listener.addressConnections = try section.integer(
      "address_connections", listener.addressConnections, 0...most)
    listener.feedbackConnections = try section.integer(
      "feedback_connections", listener.feedbackConnections, 1...most)
    listener.handshakes = try section.integer("handshakes", listener.handshakes, 1...most)
    let directory = (queue as NSString).deletingLastPathComponent
    listener.madeCertificate =
      queue.isEmpty
      ? section.beside("\(name)-listener")
      : (directory as NSString).appendingPathComponent("\(name)-listener")
    // Files are named after the listener.
    if name.contains("/") {
      throw section.fault("type", "the name of a binary listener must not contain '/'")
    }
    return listener
  }

  /// nil for any size.
  private static func sizes(
    _ text: String, _ section: ConfigurationSection
  ) throws -> TokenSizes? {
    if text == "any" { return nil }
    guard let sizes = TokenSizes(text), sizes != [] else {
      throw section.fault(
        "token_bytes",
        "must be sizes from 1 to \(TokenSizes.longest), such as 32 80, or any, not '\(text)'")
    }
    return sizes
  }

  private static func fingerprints(
    _ section: ConfigurationSection, _ apps: [AppConfiguration]
  ) throws -> [String: String] {
    var all: [String: String] = [:]
    for app in section.keys {
      guard apps.contains(where: { $0.name == app }) else {
        throw section.fault(app, "there is no app '\(app)'")
      }
      for word in (try section.text(app) ?? "").split(whereSeparator: { $0 == " " || $0 == "," }) {
        guard let fingerprint = CertificateFingerprint.read(word) else {
          throw section.fault(
            app,
            "'\(word)' is not a SHA-256 fingerprint of 64 hex digits; get it with: "
              + "openssl x509 -noout -fingerprint -sha256 -in FILE")
        }
        if let other = all[fingerprint], other != app {
          throw section.fault(app, "'\(word)' is listed for \(other) too")
        }
        all[fingerprint] = app
      }
    }
    try section.end()
    return all
  }
}
