import APNS
import BinaryServer

/// Finds a connection's app by the client certificate: by its SHA-256 fingerprint, then by the CA
/// that signed it and the topic in its subject. A port may also belong to one app.
struct ListenerClients: Sendable {
  enum Finding {
    case app(String, how: String)
    /// No app was found, for this reason.
    case unknown(String)
  }

  private let fingerprints: [String: String]
  /// The number of apps with a fingerprint.
  private let listed: Int
  private let authorities: ClientTrustStore?
  private let app: String?
  private let level: CInt

  init(_ listener: BinaryListenerConfiguration) throws {
    fingerprints = listener.fingerprints
    listed = Set(fingerprints.values).count
    app = listener.app
    level = listener.tls.takesSHA1 ? 0 : 2
    guard let file = listener.clientCA else {
      authorities = nil
      return
    }
    do throws(ServerTLSError) {
      authorities = try ClientTrustStore(file: file)
    } catch {
      throw RelayFault("\(file): \(error.text)")
    }
  }

  /// The number of apps that may have clients here, of all of the relay's.
  func count(of all: Int) -> Int {
    if app != nil { return 1 }
    return max(1, authorities == nil ? listed : all)
  }

  func find(_ client: OpenSSLServerHandler?, apps: ServedApps) -> Finding {
    guard let client, let certificate = client.peer else {
      if let app { return .app(app, how: "by the port, without a certificate") }
      return .unknown("it sent no certificate")
    }
    let fingerprint = certificate.fingerprint.hex
    let who = "\(certificate.subject), SHA-256 \(fingerprint)"
    if let app = fingerprints[fingerprint] { return .app(app, how: "by the fingerprint of \(who)") }
    if let app { return .app(app, how: "by the port, with \(who)") }
    guard let authorities else { return .unknown("its fingerprint is not listed: \(who)") }
    if let fault = authorities.fault(of: client, level: level) {
      return .unknown("its certificate is not trusted, \(fault): \(who)")
    }
    guard let topic = certificate.subject.userIdentifier else {
      return .unknown("there is no topic (UID) in its certificate: \(who)")
    }
    let owners = apps.with(topic: topic)
    guard owners.count == 1 else {
      return .unknown(
        "\(owners.isEmpty ? "no app has" : "more than one app has") the topic '\(topic)': \(who)")
    }
    return .app(owners[0].name, how: "by the CA that signed \(who)")
  }
}
