/// TLS alerts by their names in RFC 8446.
enum TLSAlert {
  private static let all: [(name: String, number: UInt8)] = [
    ("handshake_failure", 40), ("bad_certificate", 42), ("certificate_revoked", 44),
    ("certificate_expired", 45), ("certificate_unknown", 46), ("unknown_ca", 48),
    ("access_denied", 49), ("protocol_version", 70), ("insufficient_security", 71),
    ("internal_error", 80), ("unrecognized_name", 112), ("certificate_required", 116),
  ]

  static var names: [String] { all.map(\.name) }

  static func number(of name: String) -> UInt8? { all.first { $0.name == name }?.number }

  /// The record of a fatal alert before encryption begins.
  static func record(_ number: UInt8) -> [UInt8] { [21, 3, 1, 0, 2, 2, number] }
}
