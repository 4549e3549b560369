import COpenSSL

/// The lowest or highest TLS version of a server.
package enum TLSBound: String, Sendable, CaseIterable, Comparable {
  case tls1_0 = "1.0"
  case tls1_1 = "1.1"
  case tls1_2 = "1.2"
  case tls1_3 = "1.3"

  /// OpenSSL's number.
  package var number: CInt {
    switch self {
    case .tls1_0: TLS1_VERSION
    case .tls1_1: TLS1_1_VERSION
    case .tls1_2: TLS1_2_VERSION
    case .tls1_3: TLS1_3_VERSION
    }
  }

  package static func < (one: TLSBound, other: TLSBound) -> Bool {
    one.rawValue < other.rawValue
  }
}
