import BinaryServer
import COpenSSL
import Glibc

/// Checks which programs accept a listener's certificate.
struct ShownCertificateCheck {
  var certificate: Certificate
  var about: String
  /// The host name that the program uses.
  var name: String
  /// A file with the program's CA certificates, and the reason why they do not cover the
  /// certificate.
  var caFile: String?
  var distrust: String?

  /// The last second that fits into 32 bits.
  private static let end32 = Int64(Int32.max)

  func run(_ report: inout Report) {
    report.fine(
      about,
      "shows \(certificate.subject), issued by \(certificate.issuer), until \(Clock.written(certificate.validUntil)), for \(names)"
    )
    report.add(time)
    if !certificate.hasRSAKey {
      report.warning(
        "listener-key-not-rsa", about,
        "its key is not RSA, but programs from before 2012 support only RSA",
        "give the listener an RSA certificate, or omit certificate and key: the relay then makes one"
      )
    }
    guard caFile != nil else {
      report.fine(
        about,
        "a program that does not verify the server accepts it; others must trust \(certificate.issuer): to check that, give their CA certificates with --ca"
      )
      return
    }
    if let distrust {
      report.problem(
        "listener-not-trusted", about,
        "a program that trusts \(caFile ?? "") rejects it: \(distrust)",
        "add the CA of the listener's certificate to that file; if the relay made it, that is NAME-listener-ca.pem in the queue's directory"
      )
    } else if !certificate.isFor(name) {
      report.problem(
        "listener-name-mismatch", about,
        "a program that checks names rejects it: it is for \(names), not for \(name)",
        "have a certificate issued for \(name); the relay's own certificate is for Apple's old names; give the name that the program uses with --server-name"
      )
    } else {
      report.fine(about, "a program that trusts \(caFile ?? "") accepts it for \(name)")
    }
  }

  private var names: String {
    let names = certificate.names
    return names.isEmpty ? "no name" : names.prefix(8).joined(separator: ", ")
  }

  private var time: Finding? {
    var finding = CertificateTime(certificate, subject: "the listener's certificate").fault(about)
    let isEarly = finding?.cause == "certificate-not-yet-valid"
    finding?.remedy =
      isEarly
      ? "set the clock if it is wrong"
      : "replace it, and restart the relay; if the relay made it, remove its files to have a new one made"
    if finding == nil, certificate.validUntil > Self.end32 {
      return .warning(
        "listener-certificate-past-2038", about,
        "it is valid for longer than 32-bit time values can represent",
        "have one issued that expires before 2038-01-19")
    }
    return finding
  }
}

extension Certificate {
  fileprivate var hasRSAKey: Bool { copenssl_is_rsa(handle) == 1 }

  /// Compares names as OpenSSL does, or addresses.
  fileprivate func isFor(_ name: String) -> Bool {
    X509_check_host(handle, name, name.utf8.count, 0, nil) == 1
      || X509_check_ip_asc(handle, name, 0) == 1
  }
}
