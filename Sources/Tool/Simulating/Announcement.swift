import BinaryServer
import Glibc
import JSON
import Simulator

/// The text that the simulator prints when it is ready.
struct Announcement {
  var host: String
  var gatewayPort: Int?
  var feedbackPort: Int?
  var http2Port: Int
  var channelsPort: Int?
  var controlPort: Int?
  var dashboardHost = ""
  var dashboardPort: Int?
  var seed: UInt64
  var certificates: CertificateDirectory

  private func address(_ port: Int, at host: String) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// An address to connect to if the host stands for all addresses.
  private var peer: String { Self.reachable(host) }

  private static func reachable(_ host: String) -> String {
    switch host {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    default: host
    }
  }

  var text: String {
    """
    To push to it, with this certificate or a provider token:
      curl --http2 --cacert \(shell(certificates.ca)) --cert \(shell(certificates.provider)) \\
        -d '{"aps":{"alert":"Hello"}}' https://\(address(http2Port, at: peer))/3/device/\(String(repeating: "5f79cfda", count: 8))
    Key \(CertificateDirectory.tokenKeyIdentifier) of team \(CertificateDirectory.tokenTeam), for provider tokens:
      \(certificates.tokenKeyFile)
    To push to it from C:
      credentials_options.certificate_file = \(JSONLiteral.string(certificates.provider));
      credentials_options.ca_file = \(JSONLiteral.string(certificates.ca));
      session_options.peer.host = \(JSONLiteral.string(peer));
      session_options.peer.port = \(http2Port);
    Certificate and key in separate files:
      \(certificates.providerCertificate)
      \(certificates.providerKey)
    \(binaryText)\(channelsText)\(controlText)\(dashboardText)To repeat this run: --seed \(seed)
    \(ready)

    """
  }

  /// nil for a port that is not open.
  private var services: [(name: String, port: Int?, host: String)] {
    [
      ("gateway", gatewayPort, host), ("feedback", feedbackPort, host), ("http2", http2Port, host),
      ("channels", channelsPort, host), ("control", controlPort, "127.0.0.1"),
      ("dashboard", dashboardPort, dashboardHost),
    ]
  }

  private var ready: String {
    "ready "
      + services.map { service in
        service.port.map { "\(service.name)=\(address($0, at: service.host)) " } ?? ""
      }.joined() + "certificates=\(certificates.path)"
  }

  private var binaryText: String {
    let gateway = gatewayPort.map {
      """
      To connect to the binary gateway:
        openssl s_client -connect \(address($0, at: peer)) -CAfile \(shell(certificates.ca)) \\
          -cert \(shell(certificates.provider)) -key \(shell(certificates.provider))
      To push to it from C, with the certificate above:
        session_options.protocol = APNS_PROTOCOL_BINARY;
        session_options.peer.host = \(JSONLiteral.string(peer));
        session_options.peer.port = \($0);

      """
    }
    let feedback = feedbackPort.map {
      """
      To read its feedback from C:
        feedback_options.peer.host = \(JSONLiteral.string(peer));
        feedback_options.peer.port = \($0);

      """
    }
    return (gateway ?? "") + (feedback ?? "")
  }

  private var channelsText: String {
    guard let channelsPort else { return "" }
    return """
      To make a broadcast channel:
        curl --http2 --cacert \(shell(certificates.ca)) --cert \(shell(certificates.provider)) --include \\
          -d '{"message-storage-policy":1,"push-type":"LiveActivity"}' \\
          https://\(address(channelsPort, at: peer))/1/apps/com.example.app/channels

      """
  }

  private var controlText: String {
    guard let controlPort else { return "" }
    return "To watch and control it:\n  curl http://127.0.0.1:\(controlPort)/counters\n"
  }

  private var dashboardText: String {
    guard let dashboardPort else { return "" }
    return
      "To see what arrives:\n  http://\(address(dashboardPort, at: Self.reachable(dashboardHost)))/\n"
  }

  private func shell(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      byte >= 0x80 || UnicodeScalar(byte).properties.isAlphabetic
        || "0123456789/._-+".utf8.contains(byte)
    }
    return isPlain
      ? path
      : "'"
        + path.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
  }

  var json: String {
    var members: JSONMembers = ["ready": .flag(true), "host": .text(host)]
    for service in services {
      members.add("\(service.name)_port", .json(service.port.map { "\($0)" } ?? "null"))
    }
    members.add([
      "seed": .number(seed), "certificates": .text(certificates.path), "ca": .text(certificates.ca),
      "provider": .text(certificates.provider),
      "provider_certificate": .text(certificates.providerCertificate),
      "provider_key": .text(certificates.providerKey),
      "token_key": .text(certificates.tokenKeyFile),
      "token_key_id": .text(CertificateDirectory.tokenKeyIdentifier),
      "token_team_id": .text(CertificateDirectory.tokenTeam), "pid": .number(getpid()),
    ])
    return members.object + "\n"
  }
}
