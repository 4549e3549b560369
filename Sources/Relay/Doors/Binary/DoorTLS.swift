import BinaryServer

/// The TLS settings of a listener: safe ones by default, older ones by configuration.
struct DoorTLS {
  let context: OpenSSLServerContext
  /// Warnings about the settings, for the log.
  let warnings: [String]
  /// Notices about the server certificate, for the log.
  let news: [String]

  init(_ door: BinaryDoorConfiguration) throws {
    var news: [String] = []
    var certificate = door.tls.certificate ?? ""
    var key = door.tls.key ?? certificate
    if certificate.isEmpty {
      let own = DoorCertificate(door.madeCertificate)
      if try own.prepare() {
        news.append(
          "a certificate was made, \(own.certificate); clients that verify the server trust "
            + own.authority)
      }
      (certificate, key) = (own.certificate, own.key)
    }
    var tls = ServerTLS(
      certificateFile: certificate, keyFile: key, min: door.tls.min, max: .tls1_3)
    tls.clientCertificate = .unverified
    tls.ciphers = Self.ciphers(door.tls)
    tls.takesDHE = door.tls.takesDHE
    do throws(ServerTLSError) {
      context = try OpenSSLServerContext(tls)
    } catch {
      throw QueueFault(description: "\(certificate): \(error.text)")
    }
    warnings = Self.warnings(door)
    self.news = news
  }

  /// OpenSSL allows versions below 1.2 and SHA-1 signatures only at security level 0.
  static func ciphers(_ tls: BinaryDoorConfiguration.TLS) -> String {
    let level = tls.min < .tls1_2 || tls.takesSHA1 ? 0 : 2
    return "DEFAULT\(tls.takesRSA ? "" : ":!kRSA"):@SECLEVEL=\(level)"
  }

  static func warnings(_ door: BinaryDoorConfiguration) -> [String] {
    var warnings: [String] = []
    if door.tls.min < .tls1_2 {
      warnings.append(
        "min_tls \(door.tls.min.rawValue): versions of TLS below 1.2 can be read and changed by one "
          + "who is on the line; keep the way from the client to this port within your own network")
    }
    if door.tls.takesRSA {
      warnings.append(
        "rsa_key_exchange: whoever gets the server's key later can read what was recorded before")
    }
    if door.tls.takesDHE {
      warnings.append(
        "dhe_key_exchange: each handshake costs more, and whoever reaches the port can cause them")
    }
    if door.tls.takesSHA1 {
      warnings.append(
        "sha1: signatures by SHA-1 and keys of 1,024 bits are taken, which can be forged at a cost")
    }
    if let app = door.app {
      warnings.append(
        "app: whoever reaches this port pushes as \(app), with any certificate or none")
    }
    return warnings
  }
}
