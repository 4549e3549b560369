import APNSLibrary
import CAPNS
import Glibc

/// Why the library does not take a file, as a finding: it says what is wrong, this says what
/// to do.
enum CredentialsCause {
  static func finding(_ error: LibraryError, about: String, file: CredentialFile?) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      Finding(cause: cause, about: about, message: error.message, remedy: remedy)
    }
    func says(_ words: String) -> Bool { error.message.contains(words) }

    switch error.systemError {
    case ENOENT:
      return found(
        "file-missing",
        "look at the path; a daemon may have another directory, so name it from / on")
    case EACCES:
      return found(
        "file-unreadable", "let the user that pushes read it: chown it, or run this as that user")
    case 0: break
    default: return found("file-unreadable", "name a file that can be read")
    }
    if says("revocation list") {
      return found(
        "no-revocation-list",
        "give the list in PEM: one in DER is made that by openssl crl -inform DER")
    }
    if says("RC2 or DES") {
      return found(
        "legacy-provider-missing",
        "install it (Debian: openssl-provider-legacy, elsewhere legacy.so beside OpenSSL 3), or export the file anew with AES"
      )
    }
    if says("needs a passphrase") {
      return found("passphrase-missing", "give it with --passphrase-file or in APNS_PASSPHRASE")
    }
    if says("the passphrase does not open") {
      return found(
        "passphrase-wrong",
        "give the one that was typed at the export; mind blanks and a line break at its end")
    }
    if says("not the certificate's") {
      return found(
        "key-mismatch",
        "give the key with which this certificate was requested, or the certificate that belongs to this key: openssl pkey -pubout and openssl x509 -pubkey -noout show the same for a pair"
      )
    }
    if says("holds no PEM private key") {
      if file?.form == .der, file?.certificates.isEmpty == false {
        return found(
          "key-missing",
          "a certificate in DER (.cer, as Apple hands it out) has no key beside it: name the key with --key, or export both as .p12"
        )
      }
      return found(
        "key-missing", "name the key with --key, or put both into one file\(contents(file))")
    }
    if says("holds no PEM certificate") || says("PKCS#12 without a certificate") {
      let isRequest = file?.labels.contains { $0.hasSuffix("CERTIFICATE REQUEST") } ?? false
      return found(
        isRequest ? "certificate-request" : "certificate-missing",
        isRequest
          ? "this is the request: give the certificate that Apple issued for it"
          : "give the certificate that Apple issued, or Keychain's export\(contents(file))")
    }
    if says("PKCS#12 without a private key") {
      return found(
        "key-missing", "in Keychain unfold the certificate and export it with the key below it")
    }
    if says("not EC P-256") {
      return found(
        "token-key-not-p256",
        "give the AuthKey_….p8 of Apple's account page (Keys); a certificate's key goes to --key")
    }
    if says("key_id ") {
      return found(
        "key-id-invalid",
        "--key-id is the 10 letters and digits in the name AuthKey_<id>.p8, and on the account page"
      )
    }
    if says("team_id ") {
      return found(
        "team-id-invalid",
        "--team-id is the 10 letters and digits on the account page under Membership")
    }
    if says("no certificate to trust in") {
      return file?.form == .der
        ? found(
          "ca-not-pem",
          "the file is DER: openssl x509 -inform DER -in \(about) -out ca.pem makes PEM of it")
        : found("ca-not-pem", "give the authority's certificate in PEM\(contents(file))")
    }
    if says("cannot be used") {
      return found(
        "certificate-too-weak",
        "OpenSSL here refuses it, mostly for a short key or SHA-1: have it issued anew with RSA 2048 or EC P-256"
      )
    }
    if says("provider tokens are for HTTP/2") {
      return found("no-http2-here", "use a library built with HTTP/2, or a certificate")
    }
    return found("credentials-unusable", "export or download the file again\(contents(file))")
  }

  /// ": it holds EC PARAMETERS and PRIVATE KEY"
  private static func contents(_ file: CredentialFile?) -> String {
    guard let file else { return "" }
    switch file.form {
    case .pem: return ": it holds \(file.labels.joined(separator: ", "))"
    case .pkcs12: return ": it is PKCS#12"
    case .der: return file.certificates.isEmpty ? ": it is DER" : ": it is a certificate in DER"
    case .other: return ": it is neither PEM, DER nor PKCS#12"
    }
  }
}
