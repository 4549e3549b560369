import Client

/// The meaning of a TLS alert from the service (RFC 8446, 6.2).
enum AlertCause {
  static func finding(_ alert: UInt8, about: String, _ shown: Shown) -> Finding {
    let known = all[alert]
    let name = known?.name ?? "alert \(alert)"
    // Without a client certificate, these alerts mean that the service requires one.
    if !shown.certificate, [40, 42, 116].contains(alert) {
      return .problem(
        "certificate-wanted", about,
        "the service ended the handshake (alert \(name)): it requires a certificate and got none",
        shown.isUnusable
          ? "fix the certificate first, see above"
          : "give the provider's certificate, with --certificate or --p12"
            + (shown.tokenKey
              ? "; a --p8 key is for HTTP/2 services that accept provider tokens, and is not used in the handshake"
              : ""))
    }
    return .problem(
      "alert-" + name.split(whereSeparator: { $0 == "_" || $0 == " " }).joined(separator: "-"),
      about,
      "the service ended the handshake (alert \(name)): \(known?.meaning ?? "an unknown alert")",
      known?.remedy ?? "ask its operator")
  }

  /// The credentials that the service got.
  struct Shown {
    var certificate: Bool
    /// A certificate that could not be used.
    var isUnusable: Bool
    /// A signing key: provider tokens are sent after the handshake.
    var tokenKey = false
  }

  /// The meaning in one line, for other commands.
  static func words(_ error: LibraryError, _ shown: Shown) -> String? {
    guard let alert = error.alert else { return nil }
    let finding = Self.finding(alert, about: "", shown)
    return "\(finding.message); \(finding.remedy)"
  }

  private static let renew = "have a new certificate issued on Apple's account page"
  private typealias Known = (name: String, meaning: String, remedy: String)
  private static let all: [UInt8: Known] = [
    40: (
      "handshake_failure", "no cipher in common, or it requires another certificate",
      "check that the service accepts this kind of certificate; ask its operator which ciphers it supports"
    ),
    42: (
      "bad_certificate", "it does not accept the provider's certificate",
      "check that it is a push certificate for this service: sandbox and production are separate services"
    ),
    43: (
      "unsupported_certificate", "it does not support this kind of certificate",
      "give a certificate with an RSA key"
    ),
    44: ("certificate_revoked", "the provider's certificate was revoked", renew),
    45: ("certificate_expired", "the provider's certificate has expired by its clock", renew),
    46: (
      "certificate_unknown", "it does not accept the provider's certificate",
      "check that it is a push certificate for this service: sandbox and production are separate services"
    ),
    48: (
      "unknown_ca", "it does not know the issuer of the provider's certificate",
      "put the chain into the --certificate file, after the certificate; check that this is the right service"
    ),
    49: ("access_denied", "it knows the provider and denies access", "ask its operator"),
    70: ("protocol_version", "no TLS version in common", "enable TLS 1.2 or 1.3 in the service"),
    71: (
      "insufficient_security", "it requires stronger ciphers or keys",
      "update OpenSSL, or have the certificate issued with a longer key"
    ),
    80: ("internal_error", "the service has an internal problem", "try later; ask its operator"),
    112: (
      "unrecognized_name", "it has no service with that name", "check --host and --server-name"
    ),
    116: (
      "certificate_required", "it requires a certificate",
      "give the provider's certificate, with --certificate or --p12"
    ),
  ]
}
