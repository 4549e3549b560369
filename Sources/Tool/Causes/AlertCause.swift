import Client

/// The meaning of a TLS alert from the service (RFC 8446, 6.2).
enum AlertCause {
  static func finding(_ alert: UInt8, about: String, _ shown: Shown) -> Finding {
    let known = all[alert]
    let name = known?.name ?? "alert \(alert)"
    // Without a client certificate, these alerts mean that the service requires one.
    if !shown.certificate, [40, 42, 116].contains(alert) {
      return Finding(
        cause: "certificate-wanted", about: about,
        message:
          "the service ended the handshake (alert \(name)): it requires a certificate and got none",
        remedy: shown.isUnusable
          ? "fix the certificate first, see above"
          : "give the provider's certificate, with --certificate or --p12"
            + (shown.tokenKey
              ? "; a --p8 key is for HTTP/2 services that accept provider tokens, and is not used in the handshake"
              : ""))
    }
    return Finding(
      cause: "alert-"
        + name.split(whereSeparator: { $0 == "_" || $0 == " " }).joined(separator: "-"),
      about: about,
      message:
        "the service ended the handshake (alert \(name)): \(known?.meaning ?? "an unknown alert")",
      remedy: known?.remedy ?? "ask its operator")
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

  private struct Known {
    var name: String
    var meaning: String
    var remedy: String
  }

  private static let renew = "have a new certificate issued on Apple's account page"
  private static let all: [UInt8: Known] = [
    40: Known(
      name: "handshake_failure", meaning: "no cipher in common, or it requires another certificate",
      remedy:
        "check that the service accepts this kind of certificate; ask its operator which ciphers it supports"
    ),
    42: Known(
      name: "bad_certificate", meaning: "it does not accept the provider's certificate",
      remedy:
        "check that it is a push certificate for this service: sandbox and production are separate services"
    ),
    43: Known(
      name: "unsupported_certificate", meaning: "it does not support this kind of certificate",
      remedy: "give a certificate with an RSA key"),
    44: Known(
      name: "certificate_revoked", meaning: "the provider's certificate was revoked", remedy: renew),
    45: Known(
      name: "certificate_expired", meaning: "the provider's certificate has expired by its clock",
      remedy: renew),
    46: Known(
      name: "certificate_unknown", meaning: "it does not accept the provider's certificate",
      remedy:
        "check that it is a push certificate for this service: sandbox and production are separate services"
    ),
    48: Known(
      name: "unknown_ca", meaning: "it does not know the issuer of the provider's certificate",
      remedy:
        "put the chain into the --certificate file, after the certificate; check that this is the right service"
    ),
    49: Known(
      name: "access_denied", meaning: "it knows the provider and denies access",
      remedy: "ask its operator"),
    70: Known(
      name: "protocol_version", meaning: "no TLS version in common",
      remedy: "enable TLS 1.2 or 1.3 in the service"),
    71: Known(
      name: "insufficient_security", meaning: "it requires stronger ciphers or keys",
      remedy: "update OpenSSL, or have the certificate issued with a longer key"),
    80: Known(
      name: "internal_error", meaning: "the service has an internal problem",
      remedy: "try later; ask its operator"),
    112: Known(
      name: "unrecognized_name", meaning: "it has no service with that name",
      remedy: "check --host and --server-name"),
    116: Known(
      name: "certificate_required", meaning: "it requires a certificate",
      remedy: "give the provider's certificate, with --certificate or --p12"),
  ]
}
