import Gateway
import Glibc

/// What the simulator says when it listens.
struct Announcement {
  var host: String
  var gatewayPort: Int
  var feedbackPort: Int
  var controlPort: Int?
  var seed: UInt64
  var certificates: CertificateDirectory

  private func address(_ port: Int, at host: String) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// Where to connect to, which an address that means all of them does not say.
  private var peer: String {
    switch host {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    default: host
    }
  }

  var text: String {
    """
    To look at it:
      openssl s_client -connect \(address(gatewayPort, at: peer)) -CAfile \(shell(certificates.ca)) \\
        -cert \(shell(certificates.provider)) -key \(shell(certificates.provider))
    To push to it from C:
      credentials_options.certificate_file = \(JSONText.string(certificates.provider));
      credentials_options.ca_file = \(JSONText.string(certificates.ca));
      session_options.host = \(JSONText.string(peer));
      session_options.port = \(gatewayPort);
      feedback_options.host = \(JSONText.string(peer));
      feedback_options.port = \(feedbackPort);
    Certificate and key apart:
      \(certificates.providerCertificate)
      \(certificates.providerKey)
    \(controlText)Chance begins with --seed \(seed)
    ready gateway=\(address(gatewayPort, at: host)) feedback=\(address(feedbackPort, at: host)) certificates=\(certificates.path)

    """
  }

  private var controlText: String {
    guard let controlPort else { return "" }
    return "To see and change what it does:\n  curl http://127.0.0.1:\(controlPort)/counters\n"
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
    let fields = [
      ("host", JSONText.string(host)),
      ("gateway_port", "\(gatewayPort)"),
      ("feedback_port", "\(feedbackPort)"),
      ("control_port", controlPort.map(String.init) ?? "null"),
      ("seed", "\(seed)"),
      ("certificates", JSONText.string(certificates.path)),
      ("ca", JSONText.string(certificates.ca)),
      ("provider", JSONText.string(certificates.provider)),
      ("provider_certificate", JSONText.string(certificates.providerCertificate)),
      ("provider_key", JSONText.string(certificates.providerKey)),
      ("pid", "\(getpid())"),
    ]
    return "{\"ready\":true,"
      + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}\n"
  }
}
