/// The lowest or highest TLS version of a server.
package enum TLSBound: String, Sendable, CaseIterable, Comparable {
  case tls1_0 = "1.0"
  case tls1_1 = "1.1"
  case tls1_2 = "1.2"
  case tls1_3 = "1.3"

  package static func < (one: TLSBound, other: TLSBound) -> Bool {
    one.rawValue < other.rawValue
  }
}
