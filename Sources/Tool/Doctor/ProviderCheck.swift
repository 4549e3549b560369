import CAPNS
import Client
import Glibc

/// The provider's certificate and key, as files.
struct ProviderCheck {
  var sources: ProviderCredentials.Sources
  var target: PushTarget
  var topic: String?

  /// The certificate's validity, for the clock check; nil if the certificate is unusable.
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
    let description: ProviderCredentials.Description
    do throws(LibraryError) {
      description = try ProviderCredentials(only).describe()
    } catch {
      let isKeys = isKeys(error, certificate: file)
      report.add(
        CredentialsCause.finding(
          error, about: isKeys ? sources.key ?? path : path, file: isKeys ? keyFile : file))
      // It may have expired as well.
      if let first = file?.certificates.first {
        report.add(CertificateTime(first, subject: "the certificate").fault(path))
      }
      return nil
    }
    let time = CertificateTime(
      from: description.notBefore, until: description.notAfter,
      subject: "the provider's certificate")
    report.add(file?.oldCipher)
    var isFine = true
    func add(_ finding: Finding?) {
      if finding != nil { isFine = false }
      report.add(finding)
    }
    add(time.fault(path))
    add(environment(description, path))
    add(topics(description, path))
    add(usage(file, path))
    add(purpose(description, file, path))
    if isFine { report.fine(path, text(of: description)) }
    return time
  }

  /// Whether the key's file caused the error. The library reads the certificate first.
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

  private func environment(_ description: ProviderCredentials.Description, _ path: String)
    -> Finding?
  {
    guard let isSandbox = target.isSandbox, description.isForSandbox || description.isForProduction,
      isSandbox ? !description.isForSandbox : !description.isForProduction
    else { return nil }
    let (its, other) = isSandbox ? ("production", "sandbox") : ("sandbox", "production")
    return .problem(
      "environment-mismatch", path,
      "the certificate is for Apple's \(its) service only, but the connection was to \(other)",
      isSandbox
        ? "leave out --sandbox, or get a certificate for it; production and the sandbox have different device tokens"
        : "add --sandbox for apps that Xcode installed, or get a certificate for production")
  }

  private func topics(_ description: ProviderCredentials.Description, _ path: String) -> Finding? {
    if let topic {
      // The library appends the suffix that a VoIP-only certificate needs.
      guard !description.topics.isEmpty, !description.topics.contains(topic),
        description.topics != [topic + ".voip"]
      else { return nil }
      return .problem(
        "topic-not-covered", path,
        "the certificate is for \(description.topics.joined(separator: ", ")), not for \(topic)",
        "give --topic as one of these, or the certificate of that app")
    }
    guard description.topics.isEmpty, target.isApple else { return nil }
    return .problem(
      "certificate-without-topic", path,
      "the certificate (\(description.subject ?? "")) has no topic: it is probably not a push certificate",
      "give the app's push certificate, \"Apple Push Services: …\" on the account page")
  }

  private func usage(_ file: CredentialFile?, _ path: String) -> Finding? {
    guard let certificates = file?.certificates, certificates.count == 1,
      certificates[0].isForClients == false
    else { return nil }
    return .problem(
      "certificate-not-for-clients", path,
      "the certificate is not allowed for clients (extended key usage)",
      "give the push certificate; this one is for a server or for signing")
  }

  /// If a file has several certificates, the library prefers one for pushing.
  private func purpose(
    _ description: ProviderCredentials.Description, _ file: CredentialFile?, _ path: String
  ) -> Finding? {
    guard target.isApple, !description.topics.isEmpty,
      let shown = file?.certificates.first(where: { $0.subject.description == description.subject }
      ),
      !shown.isForPushing
    else { return nil }
    return .problem(
      "certificate-not-for-pushing", path,
      "the certificate (\(description.subject ?? "")) has none of Apple's extensions for pushing",
      "give the app's push certificate, \"Apple Push Services: …\" on the account page")
  }

  private func text(of description: ProviderCredentials.Description) -> String {
    var words = [description.subject ?? "a certificate", "its key matches"]
    if !description.topics.isEmpty {
      words.append("for " + description.topics.joined(separator: ", "))
    }
    switch (description.isForSandbox, description.isForProduction) {
    case (true, true): words.append("sandbox and production")
    case (true, false): words.append("sandbox")
    case (false, true): words.append("production")
    case (false, false): break
    }
    words.append("until \(Clock.written(description.notAfter))")
    words.append(
      description.chainLength == 1
        ? "without its chain" : "a chain of \(description.chainLength) certificates")
    return words.joined(separator: "; ")
  }
}
