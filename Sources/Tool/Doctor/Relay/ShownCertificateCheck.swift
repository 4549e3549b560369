import BinaryServer
import COpenSSL
import Glibc

/// The certificate that a listener shows, and which programs take it.
struct ShownCertificateCheck {
  var certificate: Certificate
  var about: String
  /// What the program calls the listener.
  var name: String
  /// A file of those whom the program trusts, and why by it the certificate is not to be trusted.
  var authority: String?
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
      report.add(
        Finding(
          cause: "listener-key-not-rsa", severity: .warning, about: about,
          message: "its key is not RSA, and programs of before 2012 know nothing else",
          remedy:
            "give the listener an RSA certificate, or leave out certificate and key: one is made")
      )
    }
    guard authority != nil else {
      report.fine(
        about,
        "a program that does not verify the server takes it; one that does has to trust \(certificate.issuer): give what it trusts with --ca to try that"
      )
      return
    }
    if let distrust {
      report.add(
        Finding(
          cause: "listener-not-trusted", about: about,
          message: "a program that trusts \(authority ?? "") does not take it: \(distrust)",
          remedy:
            "add to that file what the listener's certificate was issued by; where the relay made it, that is NAME-listener-ca.pem beside the queue"
        ))
    } else if !certificate.isFor(name) {
      report.add(
        Finding(
          cause: "listener-name-mismatch", about: about,
          message:
            "a program that compares names does not take it: it is for \(names), not for \(name)",
          remedy:
            "have a certificate issued for \(name); what the relay makes itself is for Apple's old names; --server-name says what the program calls the listener"
        ))
    } else {
      report.fine(about, "a program that trusts \(authority ?? "") takes it for \(name)")
    }
  }

  private var names: String {
    let names = certificate.names
    return names.isEmpty ? "no name" : names.prefix(8).joined(separator: ", ")
  }

  private var time: Finding? {
    var finding = CertificateTime(certificate, whose: "the listener's certificate").fault(about)
    let isEarly = finding?.cause == "certificate-not-yet-valid"
    finding?.remedy =
      isEarly
      ? "set the clock if it is wrong"
      : "replace it, and restart the relay; one that the relay made is made anew where its files are removed"
    if finding == nil, certificate.validUntil > Self.end32 {
      return Finding(
        cause: "listener-certificate-past-2038", severity: .warning, about: about,
        message: "it is valid for longer than programs that count seconds in 32 bits can tell",
        remedy: "have one issued that ends before 2038-01-19")
    }
    return finding
  }
}

extension Certificate {
  fileprivate var hasRSAKey: Bool { copenssl_is_rsa(handle) == 1 }

  /// As OpenSSL compares names, or one of its addresses.
  fileprivate func isFor(_ name: String) -> Bool {
    X509_check_host(handle, name, name.utf8.count, 0, nil) == 1
      || X509_check_ip_asc(handle, name, 0) == 1
  }
}
