import APNSLibrary
import CAPNS
import Glibc
import Simulator

/// The provider's certificate and key, as files.
struct ProviderCheck {
  var sources: ProviderCredentials.Sources
  var target: PushTarget
  var topic: String?

  /// The time of what was found, for the clock; nil where the certificate cannot be used.
  func run(_ report: inout Report) -> CertificateTime? {
    guard let path = sources.certificate else { return nil }
    let file = CredentialFile(path)
    let keyFile = sources.key.flatMap { CredentialFile($0) }
    report.add(file?.exposure)
    report.add(keyFile?.exposure)
    var only = ProviderCredentials.Sources()
    only.certificate = sources.certificate
    only.key = sources.key
    only.passphrase = sources.passphrase
    only.ask = sources.ask
    // The check itself reports expired certificates, so that they do not hide other problems.
    only.acceptsExpired = true
    let said: ProviderCredentials.Description
    do throws(LibraryError) {
      said = try ProviderCredentials(only).describe()
    } catch {
      let isKeys = isKeys(error, certificate: file)
      report.add(
        CredentialsCause.finding(
          error, about: isKeys ? sources.key ?? path : path, file: isKeys ? keyFile : file))
      // Its time may be over as well.
      if let first = file?.certificates.first {
        report.add(CertificateTime(first, whose: "the certificate").fault(path))
      }
      return nil
    }
    let time = CertificateTime(
      from: said.notBefore, until: said.notAfter, whose: "the provider's certificate")
    report.add(file?.oldCipher)
    var isFine = true
    func judge(_ finding: Finding?) {
      if finding != nil { isFine = false }
      report.add(finding)
    }
    judge(time.fault(path))
    judge(environment(said, path))
    judge(topics(said, path))
    judge(usage(file, path))
    judge(purpose(said, file, path))
    if isFine { report.fine(path, text(of: said)) }
    return time
  }

  /// Whether the key's own file is at fault. The library reads the certificate first.
  private func isKeys(_ error: LibraryError, certificate: CredentialFile?) -> Bool {
    guard sources.key != nil, let path = sources.certificate else { return false }
    switch error.cause {
    case APNS_CAUSE_CERTIFICATE_MISSING, APNS_CAUSE_CERTIFICATE_UNFIT: return false
    case APNS_CAUSE_KEY_MISMATCH: return true
    case APNS_CAUSE_FILE_UNREADABLE: return access(path, R_OK) == 0
    case APNS_CAUSE_FILE_MALFORMED:
      guard let certificate, certificate.form != .pkcs12 else { return false }
      let blocks = certificate.labels.count { $0.hasSuffix("CERTIFICATE") }
      return certificate.certificates.count == max(blocks, 1)
    // Among certificate files, only PKCS#12 can have a passphrase or a key.
    default: return certificate?.form != .pkcs12
    }
  }

  private func environment(_ said: ProviderCredentials.Description, _ path: String) -> Finding? {
    guard let isSandbox = target.isSandbox, said.isForSandbox || said.isForProduction,
      isSandbox ? !said.isForSandbox : !said.isForProduction
    else { return nil }
    let (its, other) = isSandbox ? ("production", "sandbox") : ("sandbox", "production")
    return Finding(
      cause: "environment-mismatch", about: path,
      message: "the certificate is for Apple's \(its) service only, and \(other) was connected to",
      remedy: isSandbox
        ? "leave out --sandbox, or get a certificate for it; production and the sandbox have different device tokens"
        : "add --sandbox for apps that Xcode put on the device, or get a certificate for production"
    )
  }

  private func topics(_ said: ProviderCredentials.Description, _ path: String) -> Finding? {
    if let topic {
      // The library appends what a certificate for VoIP only needs.
      guard !said.topics.isEmpty, !said.topics.contains(topic), said.topics != [topic + ".voip"]
      else { return nil }
      return Finding(
        cause: "topic-not-covered", about: path,
        message:
          "the certificate is for \(said.topics.joined(separator: ", ")), not for \(topic)",
        remedy: "give --topic as one of these, or the certificate of that app")
    }
    guard said.topics.isEmpty, target.isApple else { return nil }
    return Finding(
      cause: "certificate-without-topic", about: path,
      message:
        "the certificate (\(said.subject ?? "")) names no app: it is probably not a push certificate",
      remedy: "give the app's push certificate, \"Apple Push Services: …\" on the account page")
  }

  private func usage(_ file: CredentialFile?, _ path: String) -> Finding? {
    guard let certificates = file?.certificates, certificates.count == 1,
      certificates[0].isForClients == false
    else { return nil }
    return Finding(
      cause: "certificate-not-for-clients", about: path,
      message: "the certificate is not allowed for clients (extended key usage)",
      remedy: "give the push certificate; this one is for a server or for signing")
  }

  /// If a file has several certificates, the library prefers one for pushing.
  private func purpose(
    _ said: ProviderCredentials.Description, _ file: CredentialFile?, _ path: String
  ) -> Finding? {
    guard target.isApple, !said.topics.isEmpty,
      let shown = file?.certificates.first(where: { $0.subject.description == said.subject }),
      !shown.isForPushing
    else { return nil }
    return Finding(
      cause: "certificate-not-for-pushing", about: path,
      message: "the certificate (\(said.subject ?? "")) has none of Apple's extensions for pushing",
      remedy: "give the app's push certificate, \"Apple Push Services: …\" on the account page")
  }

  private func text(of said: ProviderCredentials.Description) -> String {
    var words = [said.subject ?? "a certificate", "its key fits"]
    if !said.topics.isEmpty { words.append("for " + said.topics.joined(separator: ", ")) }
    switch (said.isForSandbox, said.isForProduction) {
    case (true, true): words.append("sandbox and production")
    case (true, false): words.append("sandbox")
    case (false, true): words.append("production")
    case (false, false): break
    }
    words.append("until \(Clock.written(said.notAfter))")
    words.append(
      said.chainLength == 1 ? "without its chain" : "a chain of \(said.chainLength) certificates")
    return words.joined(separator: "; ")
  }
}
