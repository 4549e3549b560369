import BinaryServer
import Foundation

/// Reads a binary listener from a configuration file.
enum BinaryDoorReader {
  /// `queue` is the path of a queue file; "" for other queues.
  static func door(
    _ name: String, _ section: ConfigurationSection, apps: [AppConfiguration], queue: String
  ) throws -> BinaryDoorConfiguration {
    var door = BinaryDoorConfiguration()
    door.name = name
    door.host = try section.text("host") ?? door.host
    door.port = try section.integer("port", door.port, 0...65535)
    door.portFile = try section.path("port_file")
    let feedback = try section.integer("feedback_port", door.feedbackPort ?? -1, -1...65535)
    door.feedbackPort = feedback < 0 ? nil : feedback
    door.feedbackPortFile = try section.path("feedback_port_file")
    door.app = try section.text("app")
    if let clients = try section.section("fingerprints") {
      door.fingerprints = try fingerprints(clients, apps)
    }
    door.clientCA = try section.file("client_ca")
    if door.app != nil, door.clientCA != nil {
      throw section.fault("client_ca", "tells apps apart, but all of this port is one app's")
    }
    if door.app == nil, door.clientCA == nil, door.fingerprints.isEmpty {
      throw section.fault(
        "fingerprints", "is missing: give it, client_ca or app, or nobody gets in")
    }
    door.tls.certificate = try section.file("certificate")
    door.tls.key = try section.file("key")
    if door.tls.key != nil, door.tls.certificate == nil {
      throw section.fault("key", "belongs to a certificate, and there is none")
    }
    door.tls.min = try section.choice("min_tls", door.tls.min)
    door.tls.takesRSA = try section.flag("rsa_key_exchange", door.tls.takesRSA)
    door.tls.takesDHE = try section.flag("dhe_key_exchange", door.tls.takesDHE)
    door.tls.takesSHA1 = try section.flag("sha1", door.tls.takesSHA1)
    door.payloadMax = try section.integer("payload_max", door.payloadMax, 1...4096)
    door.checksJSON = try section.flag("json", door.checksJSON)
    if let text = try section.text("token_bytes") { door.tokenBytes = try sizes(text, section) }
    door.answersTokens = try section.flag("token_answers", door.answersTokens)
    let most = 1_000_000
    door.connections = try section.integer("connections", door.connections, 1...most)
    door.appConnections = try section.integer("app_connections", door.appConnections, 0...most)
    door.addressConnections = try section.integer(
      "address_connections", door.addressConnections, 0...most)
    door.feedbackConnections = try section.integer(
      "feedback_connections", door.feedbackConnections, 1...most)
    door.handshakes = try section.integer("handshakes", door.handshakes, 1...most)
    let directory = (queue as NSString).deletingLastPathComponent
    door.madeCertificate =
      queue.isEmpty
      ? section.beside("\(name)-door")
      : (directory as NSString).appendingPathComponent("\(name)-door")
    // Files are named after the listener.
    if name.contains("/") {
      throw section.fault("type", "a listener of this type has no '/' in its name")
    }
    return door
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
            "'\(word)' is no fingerprint by SHA-256, which has 64 hex digits, as: "
              + "openssl x509 -noout -fingerprint -sha256 -in FILE")
        }
        if let other = all[fingerprint], other != app {
          throw section.fault(app, "'\(word)' is \(other)'s too")
        }
        all[fingerprint] = app
      }
    }
    try section.end()
    return all
  }
}
