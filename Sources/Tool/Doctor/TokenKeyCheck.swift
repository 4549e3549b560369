import CAPNS
import Client

/// Checks the file with the signing key.
struct TokenKeyCheck {
  var sources: ProviderCredentials.Sources

  /// Whether it is usable.
  func run(_ report: inout Report) -> Bool {
    guard let path = sources.tokenKey else { return false }
    let file = CredentialFile(path)
    report.add(file?.exposure)
    let error = TrustCheck.error {
      $0.tokenKey = path
      $0.keyIdentifier = sources.keyIdentifier
      $0.team = sources.team
      $0.passphrase = sources.passphrase
      $0.ask = sources.ask
    }
    if let error {
      report.add(fault(error, path) ?? CredentialsCause.finding(error, about: path, file: file))
      return false
    }
    report.add(name(path))
    report.fine(
      path,
      "an EC key on P-256; tokens have key ID \(sources.keyIdentifier ?? ""), team \(sources.team ?? "")"
    )
    return true
  }

  /// The problems that only a signing key can have.
  private func fault(_ error: LibraryError, _ path: String) -> Finding? {
    func found(_ cause: String, _ remedy: String) -> Finding {
      .problem(cause, path, error.message, remedy)
    }
    switch error.cause {
    case APNS_CAUSE_KEY_UNFIT:
      return found(
        "token-key-not-p256",
        "give the AuthKey_….p8 from Apple's account page (Keys); the key of a certificate belongs in --key"
      )
    case APNS_CAUSE_KEY_MISSING:
      return found(
        "token-key-missing",
        "give the AuthKey_….p8 from Apple's account page (Keys); a certificate belongs in --certificate"
      )
    case APNS_CAUSE_FILE_MALFORMED:
      return found(
        "token-key-broken",
        "give the whole .p8, from BEGIN to END; Apple allows only one download, so use a copy, or make a new key (Keys)"
      )
    // The library checks key_id first.
    case APNS_CAUSE_TOKEN_IDENTIFIER where isIdentifier(sources.keyIdentifier):
      return found(
        "team-id-invalid",
        "--team-id is the 10 letters and digits on the account page under Membership")
    case APNS_CAUSE_TOKEN_IDENTIFIER:
      return found(
        "key-id-invalid",
        "--key-id is the 10 letters and digits in the name AuthKey_<id>.p8, and on the account page"
      )
    default: return nil
    }
  }

  private func isIdentifier(_ text: String?) -> Bool {
    guard let text else { return false }
    return text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
  }

  /// Apple puts the key ID into the file's name.
  private func name(_ path: String) -> Finding? {
    guard let given = sources.keyIdentifier,
      let named = ProviderOptions.keyIdentifier(named: path), named != given
    else { return nil }
    return .warning(
      "key-id-differs", path,
      "the file's name has the key ID \(named), but --key-id is \(given)",
      "leave out --key-id if the file's name is right")
  }
}
