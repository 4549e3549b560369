import CAPNS
import Client
import Glibc

/// Turns the library's error about a file into a finding, with a remedy.
enum CredentialsCause {
  static func finding(_ error: LibraryError, about: String, file: CredentialFile?) -> Finding {
    func found(_ cause: String, _ remedy: String) -> Finding {
      .problem(cause, about, error.message, remedy)
    }

    switch error.systemError {
    case ENOENT:
      return found(
        "file-missing",
        "check the path; a daemon may have another working directory, so give an absolute path")
    case EACCES:
      return found(
        "file-unreadable",
        "make it readable for the user that sends the pushes: chown it, or run this as that user")
    case 0: break
    default: return found("file-unreadable", "give a readable file")
    }
    switch error.cause {
    case APNS_CAUSE_REVOCATION_LIST:
      return found(
        "no-revocation-list",
        "give the list in PEM: openssl crl -inform DER converts one in DER")
    case APNS_CAUSE_LEGACY_PROVIDER:
      return found(
        "legacy-provider-missing",
        "install it (Debian: openssl-provider-legacy, elsewhere OpenSSL 3's legacy.so), or export the file again with AES"
      )
    case APNS_CAUSE_PASSPHRASE_MISSING:
      return found("passphrase-missing", "give it with --passphrase-file or in APNS_PASSPHRASE")
    case APNS_CAUSE_PASSPHRASE_WRONG:
      return found(
        "passphrase-wrong",
        "give the passphrase of the export; look for blanks and a line break at its end"
      )
    case APNS_CAUSE_KEY_MISMATCH:
      return found(
        "key-mismatch",
        "give the key with which this certificate was requested, or the certificate that belongs to this key: openssl pkey -pubout and openssl x509 -pubkey -noout print the same key if they belong together"
      )
    case APNS_CAUSE_KEY_MISSING:
      if file?.form == .pkcs12 {
        return found(
          "key-missing",
          "in Keychain, unfold the certificate and export it together with the key below it")
      }
      if file?.form == .der, file?.certificates.isEmpty == false {
        return found(
          "key-missing",
          "a certificate in DER (.cer, as Apple issues it) contains no key: give the key with --key, or export both as .p12"
        )
      }
      return found(
        "key-missing", "name the key with --key, or put both into one file\(contents(file))")
    case APNS_CAUSE_SEVERAL_IDENTITIES:
      return found(
        "several-identities",
        "export one of them from Keychain, or give the right one's key with --key")
    case APNS_CAUSE_FILE_UNREADABLE:
      return found("file-is-text", "write the text into a file that only its user may read")
    case APNS_CAUSE_CERTIFICATE_MISSING where error.message.contains("a .p8 from Apple"):
      return found(
        "certificate-missing",
        "give a .p8 from Apple with --p8, --key-id and --team-id, and another key with --key and its certificate\(contents(file))"
      )
    case APNS_CAUSE_CERTIFICATE_MISSING:
      let isRequest = file?.labels.contains { $0.hasSuffix("CERTIFICATE REQUEST") } ?? false
      return found(
        isRequest ? "certificate-request" : "certificate-missing",
        isRequest
          ? "this is the certificate request: give the certificate that Apple issued for it"
          : "give the certificate that Apple issued, or Keychain's export\(contents(file))")
    case APNS_CAUSE_CA_MISSING:
      return file?.form == .der
        ? found(
          "ca-not-pem",
          "the file is DER: openssl x509 -inform DER -in \(about) -out ca.pem converts it to PEM")
        : found("ca-not-pem", "give the CA certificate in PEM\(contents(file))")
    case APNS_CAUSE_CERTIFICATE_UNFIT:
      return found(
        "certificate-too-weak",
        "OpenSSL on this machine refuses it, usually because of a short key or SHA-1: have a new one issued with RSA 2048 or EC P-256"
      )
    case APNS_CAUSE_HTTP2_NOT_BUILT_IN:
      return found("no-http2-here", "use a library built with HTTP/2, or a certificate")
    default: break
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
