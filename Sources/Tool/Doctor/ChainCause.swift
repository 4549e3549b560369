import BinaryServer
import CAPNS
import Client

/// The reason why a service's certificate is rejected.
struct ChainCause {
  var place: ServicePlace
  var trust: TrustCheck

  func finding(_ error: LibraryError, _ probe: TLSProbe) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      .problem(cause, place.name, error.message, remedy)
    }
    switch error.cause {
    case APNS_CAUSE_PEER_NOT_PINNED:
      return found(
        "service-not-pinned",
        "ask its operator whether it has a new key; if so, give that with --pin; otherwise the connection is intercepted"
      )
    case APNS_CAUSE_PEER_REVOKED:
      return found("service-revoked", "its operator needs a new certificate")
    case APNS_CAUSE_PEER_REVOCATION_LIST:
      return found(
        "revocation-list-missing",
        "give --crl a current list of each issuer in its chain, in PEM")
    case APNS_CAUSE_PEER_NAME: return name(probe)
    case APNS_CAUSE_PEER_EXPIRED, APNS_CAUSE_PEER_NOT_YET_VALID: return time(error, probe)
    case APNS_CAUSE_PEER_NOT_TRUSTED:
      if let chain = chain(probe.certificates) {
        return missing(chain.own, chain.top, chain.count)
      }
    default: break
    }
    return found(
      "service-not-verified",
      "have the service's operator fix its certificate; check that --ca is its CA")
  }

  private func name(_ probe: TLSProbe) -> Finding {
    let names = probe.certificates.first?.names ?? []
    let list = names.isEmpty ? "no name" : names.prefix(8).joined(separator: ", ")
    return .problem(
      "service-name-mismatch", place.name,
      "its certificate is for \(list), not for \(place.serverName)",
      names.isEmpty
        ? "have a new certificate issued with the name as subjectAltName"
        : "use one of these names as --host, or as --server-name if the address is correct")
  }

  private func time(_ error: LibraryError, _ probe: TLSProbe) -> Finding {
    for (number, certificate) in probe.certificates.enumerated() {
      let time = CertificateTime(
        certificate,
        subject: number == 0 ? "the service's certificate" : "in its chain \(certificate.subject)")
      guard let side = time.side, let fault = time.fault(place.name) else { continue }
      return .problem(
        side == .early ? "service-not-yet-valid" : "service-expired", place.name, fault.message,
        "check that this machine's clock is right (date -u); otherwise its operator has to renew it"
      )
    }
    return .problem(
      error.cause == APNS_CAUSE_PEER_EXPIRED ? "service-expired" : "service-not-yet-valid",
      place.name, error.message,
      "check that this machine's clock is right (date -u) and --ca is up to date")
  }

  /// The service's certificate, and the last issuer in its chain, for any order of the list.
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
      return .problem(
        "trust-store-empty", place.name,
        "this machine trusts no CA: its trust store is empty or missing",
        "install it (Debian: ca-certificates), in containers too, or give --ca")
    }
    if top.isSelfSigned {
      return .problem(
        count == 1 ? "service-self-signed" : "service-root-unknown", place.name,
        count == 1
          ? "its certificate (\(own.subject)) is self-signed"
          : "the root of its chain is not trusted here: \(top.subject)\(elsewhere(top.subject))",
        root(count == 1))
    }
    // A trusted certificate has this name, but another key.
    if known.contains(where: { $0.subject == top.issuer }) {
      return .problem(
        "service-root-differs", place.name,
        "it is issued by \(top.issuer), but the trusted CA of that name has another key",
        "get that CA's current certificate for --ca")
    }
    let isIncomplete =
      own.namesIssuersPlace
      || top.issuer.organization.map { wanted in
        known.contains { $0.subject.organization == wanted }
      } ?? false
    if count == 1, isIncomplete {
      return .problem(
        "service-chain-incomplete", place.name,
        "it sends only its own certificate, and not that of its issuer \(top.issuer)",
        "the service's operator must add the intermediate certificate after its own (a full chain); until then put it into --ca"
      )
    }
    return .problem(
      "service-root-unknown", place.name,
      "\(count == 1 ? "its certificate" : "the last of its chain") is issued by \(top.issuer), which is not trusted here\(elsewhere(top.issuer))",
      root(false))
  }

  private func root(_ isOwn: Bool) -> String {
    if isOwn {
      return "if it is yours, give that certificate with --ca; otherwise do not trust the service"
    }
    return trust.sources.ca == nil
      ? "give that CA's certificate with --ca (the simulator prints its path); for a public CA, update the system's trust store (Debian: ca-certificates)"
      : "--ca must contain that CA's certificate; it replaces the system's trust store"
  }

  private func elsewhere(_ name: CertificateName) -> String {
    guard trust.sources.ca != nil, TrustCheck.system.contains(where: { $0.subject == name }) else {
      return ""
    }
    return "; the system's trust store has it, but --ca replaces that store"
  }
}
