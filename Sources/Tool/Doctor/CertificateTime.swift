import BinaryServer
import Glibc

/// The validity of a certificate by this machine's clock.
struct CertificateTime {
  enum Side { case early, late }

  var from: Int64
  var until: Int64
  var subject: String

  init(from: Int64, until: Int64, subject: String) {
    (self.from, self.until, self.subject) = (from, until, subject)
  }

  init(_ certificate: Certificate, subject: String) {
    self.init(from: certificate.validFrom, until: certificate.validUntil, subject: subject)
  }

  /// A month is enough time to renew it.
  private static let soon: Int64 = 30 * 86_400

  var side: Side? {
    let now = Int64(time(nil))
    return now < from ? .early : now > until ? .late : nil
  }

  func fault(_ about: String) -> Finding? {
    let now = Int64(time(nil))
    switch side {
    case .early:
      return .problem(
        "certificate-not-yet-valid", about,
        "\(subject) is not valid yet: it is valid from \(Clock.written(from)), and this machine's time is \(Clock.written(now))",
        "set the clock if it is wrong; otherwise use the previous certificate until then")
    case .late:
      return .problem(
        "certificate-expired", about,
        "\(subject) has expired: it was valid until \(Clock.written(until)), and this machine's time is \(Clock.written(now))",
        "renew it on Apple's account page, with a new request or the old one, and replace this file"
      )
    case nil:
      guard until - now < Self.soon, until - from > 2 * Self.soon else { return nil }
      return .warning(
        "certificate-expires-soon", about,
        "\(subject) expires in \((until - now) / 86_400) days, at \(Clock.written(until))",
        "renew it before then: afterwards the gateway rejects it")
    }
  }
}
