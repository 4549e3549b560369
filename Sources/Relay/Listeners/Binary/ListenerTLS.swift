import BinaryServer

/// The TLS settings of a listener: safe ones by default, older ones by configuration.
struct ListenerTLS {
  let context: OpenSSLServerContext
  /// Warnings about the settings, for the log.
  let warnings: [String]
  /// Notices about the server certificate, for the log.
  let news: [String]

  init(_ listener: BinaryListenerConfiguration) throws {
    var news: [String] = []
    var certificate = listener.tls.certificate ?? ""
    var key = listener.tls.key ?? certificate
    if certificate.isEmpty {
      let own = ListenerCertificate(listener.madeCertificate)
      if try own.prepare() {
        news.append(
          "a certificate was created, \(own.certificate); clients that verify the server trust "
            + own.authority)
      }
      (certificate, key) = (own.certificate, own.key)
    }
    var tls = ServerTLS(
      certificateFile: certificate, keyFile: key, min: listener.tls.min, max: .tls1_3)
    tls.clientCertificate = .unverified
    tls.ciphers = Self.ciphers(listener.tls)
    tls.takesDHE = listener.tls.takesDHE
    do throws(ServerTLSError) {
      context = try OpenSSLServerContext(tls)
    } catch {
      throw RelayFault("\(certificate): \(error.text)")
    }
    warnings = Self.warnings(listener)
    self.news = news
  }

  /// OpenSSL allows versions below 1.2 and SHA-1 signatures only at security level 0.
  static func ciphers(_ tls: BinaryListenerConfiguration.TLS) -> String {
    let level = tls.min < .tls1_2 || tls.takesSHA1 ? 0 : 2
    return "DEFAULT\(tls.takesRSA ? "" : ":!kRSA"):@SECLEVEL=\(level)"
  }

  static func warnings(_ listener: BinaryListenerConfiguration) -> [String] {
    var warnings: [String] = []
    if listener.tls.min < .tls1_2 {
      warnings.append(
        "min_tls \(listener.tls.min.rawValue): TLS versions below 1.2 can be read and changed in "
          + "transit; keep the clients of this port within your own network")
    }
    if listener.tls.takesRSA {
      warnings.append(
        "rsa_key_exchange: anyone who gets the server's key later can decrypt recorded connections")
    }
    if listener.tls.takesDHE {
      warnings.append(
        "dhe_key_exchange: each handshake costs more, and anyone who can connect can cause them")
    }
    if listener.tls.takesSHA1 {
      warnings.append(
        "sha1: SHA-1 signatures and 1,024-bit keys are accepted, which can be forged at a cost")
    }
    if let app = listener.app {
      warnings.append(
        "app: anyone who can connect to this port pushes as \(app), with any certificate or none")
    }
    return warnings
  }
}
