import APNSLibrary

/// The key that signs provider tokens, as a file.
struct TokenKeyCheck {
  var sources: ProviderCredentials.Sources

  /// Whether it can be used.
  func run(_ report: inout Report) -> Bool {
    guard let path = sources.tokenKey else { return false }
    let file = CredentialFile(path)
    report.add(file?.exposure)
    var only = ProviderCredentials.Sources()
    only.tokenKey = path
    only.keyIdentifier = sources.keyIdentifier
    only.team = sources.team
    only.passphrase = sources.passphrase
    only.ask = sources.ask
    do throws(LibraryError) {
      _ = try ProviderCredentials(only)
    } catch {
      report.add(CredentialsCause.finding(error, about: path, file: file))
      return false
    }
    report.add(name(path))
    report.fine(
      path,
      "an EC key on P-256; tokens say key \(sources.keyIdentifier ?? ""), team \(sources.team ?? "")"
    )
    return true
  }

  /// Apple puts the identifier into the file's name.
  private func name(_ path: String) -> Finding? {
    guard let told = sources.keyIdentifier, let name = path.split(separator: "/").last,
      name.hasPrefix("AuthKey_"), name.hasSuffix(".p8"),
      name.dropFirst(8).dropLast(3) != told
    else { return nil }
    return Finding(
      cause: "key-id-differs", severity: .warning, about: path,
      message:
        "the file's name has the key's identifier \(name.dropFirst(8).dropLast(3)), and --key-id is \(told)",
      remedy: "leave --key-id away where the file's name is right")
  }
}
