import BinaryServer

/// The TLS versions and key exchanges that a listener accepts, each tried separately.
struct OldTLSCheck {
  /// Makes a connection and abandons it.
  var attempt: (LegacyConnection.TLS) -> LegacyConnection.Failure?
  var about: String

  private struct Trial {
    var isOpen: Bool?

    init(_ failure: LegacyConnection.Failure?) {
      guard let failure else {
        isOpen = true
        return
      }
      if case .impossible = failure { isOpen = nil } else { isOpen = false }
    }
  }

  private static let forward = "ECDHE+AES"
  private static let plain = "kRSA+AES"

  func run(_ report: inout Report) {
    let versions = TLSBound.allCases
    var open: [TLSBound] = []
    var closed: [TLSBound] = []
    var isByRSA: Bool? = nil
    var untried: [String] = []
    for version in versions {
      var tls = LegacyConnection.TLS(min: version, max: version)
      if version < .tls1_3 { tls.ciphers = Self.forward }
      let byCurves = Trial(attempt(tls)).isOpen
      var byRSA: Bool? = false
      if version < .tls1_3 {
        tls.ciphers = Self.plain
        byRSA = Trial(attempt(tls)).isOpen
        if let byRSA { isByRSA = isByRSA == true || byRSA }
      }
      if byCurves == true || byRSA == true {
        open.append(version)
      } else if byCurves == nil {
        untried.append("TLS \(version.rawValue)")
      } else {
        closed.append(version)
      }
    }
    if isByRSA == nil { untried.append("RSA key exchange") }
    var words = [open.isEmpty ? "no TLS version" : "TLS \(Self.list(open))"]
    if !closed.isEmpty { words.append("not \(Self.list(closed))") }
    if isByRSA == false { words.append("no RSA key exchange") }
    report.fine(about, words.joined(separator: "; "))
    let old = closed.filter { $0 < .tls1_2 }
    if !old.isEmpty {
      report.fine(
        about,
        "programs limited to TLS \(Self.list(old)) cannot connect (OpenSSL before 1.0.1, Java 6, Windows before 7); for such a program set min_tls: \"1.0\", and rsa_key_exchange: true for the oldest"
      )
    }
    if !untried.isEmpty {
      report.skip(
        about,
        "\(untried.joined(separator: ", ")) not tried: this machine's OpenSSL no longer supports it"
      )
    }
    if let oldest = open.first, oldest < .tls1_2 {
      report.warning(
        "old-tls-open", about,
        "it accepts TLS \(oldest.rawValue), which an attacker on the network path can read and change",
        "keep the path from the program to this port within your own network; if no program needs it, set min_tls: \"1.2\""
      )
    }
    if isByRSA == true {
      report.warning(
        "rsa-key-exchange-open", about,
        "it accepts RSA key exchange: anyone who gets the listener's key later can decrypt recorded traffic",
        "if no program needs it, set rsa_key_exchange: false")
    }
  }

  private static func list(_ versions: [TLSBound]) -> String {
    let names = versions.map(\.rawValue)
    return names.count < 2
      ? names.joined()
      : names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
  }
}
