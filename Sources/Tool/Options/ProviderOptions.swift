import ArgumentParser
import Client
import CommandOptions
import Glibc

/// The provider's credentials: options shared by all commands that connect.
struct ProviderOptions: ParsableArguments {
  @Option(
    name: [.customShort("p"), .long],
    help: ArgumentHelp(
      """
      The profile with defaults for omitted options. Default: APNS_PROFILE in the environment, or \
      the profile named default.
      """, valueName: "name"))
  var profile: String?

  @Option(file: "The provider's certificate: PEM, with or without its key, DER, or .p12.")
  var certificate: String?

  @Option(file: "Its key, if it is in another file.")
  var key: String?

  @Option(
    help: .of("file", "Certificate and key, as exported by Keychain; the same as --certificate."),
    completion: .file(extensions: ["p12", "pfx"]))
  var p12: String?

  @Option(
    help: .of("file", "Signing key (.p8) for provider tokens, for HTTP/2, as Apple issues it."),
    completion: .file(extensions: ["p8"]))
  var p8: String?

  @Option(help: .of("id", "The ID of the --p8 key. Default: from the file name AuthKey_<id>.p8."))
  var keyID: String?

  @Option(help: .of("id", "The team of the --p8 key."))
  var teamID: String?

  @Option(
    file: """
      A file with the passphrase of the key or the .p12 in its first line. Default: \
      APNS_PASSPHRASE in the environment, or a prompt on the terminal.
      """)
  var passphraseFile: String?

  @Option(
    name: .customLong("ca"),
    file: "The CA certificates to trust, in PEM. Default: the system's trust store.")
  var caFile: String?

  @Option(
    name: .customLong("crl"),
    help: ArgumentHelp(
      """
      Certificate revocation lists in PEM, or a directory of them made by openssl rehash: one list \
      for each issuer in the service's chain.
      """, valueName: "path"),
    completion: .file())
  var revocations: String?

  @Option(
    name: .customLong("pin"),
    help: ArgumentHelp(
      """
      A public key that the service's chain must contain, as sha256//BASE64. May be repeated; one \
      match is enough.
      """, valueName: "hash"))
  var pins: [String] = []

  @Flag(
    help:
      "Accept any server certificate. Anyone on the network path can then read everything."
  )
  var dangerouslyAcceptAnyPeer = false

  func validate() throws {
    if certificate != nil, p12 != nil {
      throw ValidationError("give either --certificate or --p12, not both")
    }
    if certificate == nil, p12 == nil, key != nil {
      throw ValidationError("--key needs a --certificate (or is it a --p8?)")
    }
    if p8 == nil, keyID != nil || teamID != nil {
      throw ValidationError("--key-id and --team-id need a --p8 key")
    }
    if p8 != nil, teamID == nil {
      throw ValidationError("--p8 needs --team-id, the 10 characters on your Apple account page")
    }
    if p8 != nil, keyIdentifier == nil {
      throw ValidationError("--p8 needs --key-id: the file is not named AuthKey_<id>.p8")
    }
  }

  /// Neither certificate nor key is given.
  var namesNobody: Bool { certificate == nil && p12 == nil && p8 == nil }

  static let p8IsForHTTP2 =
    "--p8 is for HTTP/2 only: --protocol binary needs a certificate"
  static let nobody =
    "neither a certificate nor a key is given, so the service cannot identify the provider"
  static let whom =
    "give --certificate FILE or --p12 FILE, which are for HTTP/2 and the binary interface, "
    + "or --p8 FILE with --team-id, which is for HTTP/2 only"

  /// Apple accepts no pushes without credentials. Another service may, and its operator knows.
  func demand(of service: PeerOptions) throws {
    guard namesNobody else { return }
    guard service.host != nil else { throw Exit.refusal("\(Self.nobody): \(Self.whom)") }
    StandardStream.error.write("Warning: \(Self.nobody): \(Self.whom)\n")
  }

  /// The credentials that the service gets in the handshake.
  var shown: AlertCause.Shown {
    AlertCause.Shown(
      certificate: certificate != nil || p12 != nil, isUnusable: false, tokenKey: p8 != nil)
  }

  /// The library's credentials. Errors in them count as errors of the command line.
  func credentials() throws -> ProviderCredentials {
    let sources = try sources()
    return try Exit.refusing { try ProviderCredentials(sources) }
  }

  func sources() throws -> ProviderCredentials.Sources {
    var sources = ProviderCredentials.Sources()
    sources.certificate = certificate ?? p12
    sources.key = key
    sources.ca = caFile
    sources.revocations = revocations
    sources.pins = pins
    sources.tokenKey = p8
    sources.keyIdentifier = keyIdentifier
    sources.team = teamID
    sources.acceptsAnyPeer = dangerouslyAcceptAnyPeer
    if let passphraseFile {
      do throws(FileFault) {
        sources.passphrase = try SecretFile.firstLine(of: passphraseFile)
      } catch {
        // Not shown, because the option's value may be the passphrase itself.
        throw Exit.refusal("--passphrase-file (name not shown): \(error.message)")
      }
    } else if let value = getenv("APNS_PASSPHRASE") {
      sources.passphrase = String(cString: value)
    } else {
      sources.ask = { Prompt.secret("Passphrase of \($0): ") }
    }
    return sources
  }

  private var keyIdentifier: String? { keyID ?? p8.flatMap(Self.keyIdentifier) }

  /// The ID in the name that Apple gives a key's file.
  static func keyIdentifier(named path: String) -> String? {
    guard let name = path.split(separator: "/").last, name.hasPrefix("AuthKey_"),
      name.hasSuffix(".p8")
    else { return nil }
    return String(name.dropFirst(8).dropLast(3))
  }
}
