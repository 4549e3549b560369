import APNSLibrary
import BinaryServer
import CAPNS
import Simulator

/// Why a service's certificate is not taken: which one is missing, or what is wrong with it.
struct ChainCause {
  var place: ServicePlace
  var trust: TrustCheck

  func finding(_ error: LibraryError, _ look: TLSLook) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      Finding(cause: cause, about: place.name, message: error.message, remedy: remedy)
    }
    switch error.cause {
    case APNS_CAUSE_PEER_NOT_PINNED:
      return found(
        "service-not-pinned",
        "ask its operator whether it has a new key; if so, give that with --pin; if not, somebody intercepts the connection"
      )
    case APNS_CAUSE_PEER_REVOKED:
      return found("service-revoked", "its operator needs a new certificate")
    case APNS_CAUSE_PEER_REVOCATION_LIST:
      return found(
        "revocation-list-missing",
        "give --crl a current list of each issuer in its chain, in PEM")
    case APNS_CAUSE_PEER_NAME: return name(look)
    case APNS_CAUSE_PEER_EXPIRED, APNS_CAUSE_PEER_NOT_YET_VALID: return time(error, look)
    case APNS_CAUSE_PEER_NOT_TRUSTED:
      if let chain = chain(look.certificates) {
        return missing(chain.own, chain.top, chain.count)
      }
    default: break
    }
    return found(
      "service-not-verified",
      "have the service's operator fix its certificate; check that --ca is its authority")
  }

  private func name(_ look: TLSLook) -> Finding {
    let names = look.certificates.first?.names ?? []
    let list = names.isEmpty ? "no name" : names.prefix(8).joined(separator: ", ")
    return Finding(
      cause: "service-name-mismatch", about: place.name,
      message: "its certificate is for \(list), not for \(place.serverName)",
      remedy: names.isEmpty
        ? "have a new one issued with its name as subjectAltName"
        : "use one of these names as --host, or as --server-name if the address is right"
    )
  }

  private func time(_ error: LibraryError, _ look: TLSLook) -> Finding {
    for (number, certificate) in look.certificates.enumerated() {
      let time = CertificateTime(
        certificate,
        whose: number == 0 ? "the service's certificate" : "in its chain \(certificate.subject)")
      guard let side = time.side, let fault = time.fault(place.name) else { continue }
      return Finding(
        cause: side == .early ? "service-not-yet-valid" : "service-expired", about: place.name,
        message: fault.message,
        remedy:
          "check that this machine's clock is right (date -u); otherwise its operator has to renew it"
      )
    }
    return Finding(
      cause: error.cause == APNS_CAUSE_PEER_EXPIRED ? "service-expired" : "service-not-yet-valid",
      about: place.name, message: error.message,
      remedy: "check that this machine's clock is right (date -u) and --ca is up to date")
  }

  /// The service's certificate, and the last issuer that follows from it, in any order of the list.
  private func chain(_ sent: [Certificate]) -> (own: Certificate, top: Certificate, count: Int)? {
    guard let own = sent.first else { return nil }
    var (top, count) = (own, 1)
    while !top.isSelfSigned, count < sent.count,
      let next = sent.first(where: { $0.subject == top.issuer })
    {
      (top, count) = (next, count + 1)
    }
    return (own, top, count)
  }

  private func missing(_ own: Certificate, _ top: Certificate, _ count: Int) -> Finding {
    let known = trust.certificates
    if known.isEmpty, trust.sources.ca == nil, !TrustCheck.hasDirectory {
      return Finding(
        cause: "trust-store-empty", about: place.name,
        message: "this machine trusts no authority: its certificate store is empty or missing",
        remedy: "install it (Debian: ca-certificates), in containers too, or give --ca")
    }
    if top.isSelfSigned {
      return Finding(
        cause: count == 1 ? "service-self-signed" : "service-root-unknown",
        about: place.name,
        message: count == 1
          ? "its certificate (\(own.subject)) is self-signed"
          : "the root of its chain is not trusted here: \(top.subject)\(elsewhere(top.subject))",
        remedy: root(count == 1))
    }
    // A known certificate has this name, but another key.
    if known.contains(where: { $0.subject == top.issuer }) {
      return Finding(
        cause: "service-root-differs", about: place.name,
        message:
          "it is issued by \(top.issuer), but the trusted authority of that name has another key",
        remedy: "get that authority's current certificate for --ca")
    }
    let isIncomplete =
      own.namesIssuersPlace
      || top.issuer.organization.map { wanted in
        known.contains { $0.subject.organization == wanted }
      } ?? false
    if count == 1, isIncomplete {
      return Finding(
        cause: "service-chain-incomplete", about: place.name,
        message:
          "it sends only its own certificate, and not that of \(top.issuer), which issued it",
        remedy:
          "the service's operator has to add the intermediate certificate after its own (a full chain); until then put it into --ca"
      )
    }
    return Finding(
      cause: "service-root-unknown", about: place.name,
      message:
        "\(count == 1 ? "its certificate" : "the last of its chain") is issued by \(top.issuer), which is not trusted here\(elsewhere(top.issuer))",
      remedy: root(false))
  }

  private func root(_ isOwn: Bool) -> String {
    if isOwn { return "if it is yours, give that certificate with --ca; otherwise do not trust it" }
    return trust.sources.ca == nil
      ? "give that authority's certificate with --ca (the simulator prints where its own is); if it is a public one, update the system's store (Debian: ca-certificates)"
      : "--ca has to contain that authority's certificate; it replaces the system's store"
  }

  private func elsewhere(_ name: CertificateName) -> String {
    guard trust.sources.ca != nil, TrustCheck.system.contains(where: { $0.subject == name }) else {
      return ""
    }
    return "; the system's store has it, but --ca replaces that store"
  }
}
