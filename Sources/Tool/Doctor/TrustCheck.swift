import APNS
import BinaryServer
import Client
import Glibc

/// Checks the CA certificates that the provider trusts.
struct TrustCheck {
  var sources: ProviderCredentials.Sources

  /// Whether they are usable.
  func run(_ report: inout Report) -> Bool {
    if let error = Self.error(of: { $0.ca = sources.ca }) {
      report.add(
        CredentialsCause.finding(
          error, about: sources.ca ?? "the system's trust store",
          file: sources.ca.flatMap { CredentialFile($0) }))
      return false
    }
    if let error = Self.error(of: { $0.pins = sources.pins }) {
      report.problem(
        "pin-malformed", "--pin", error.message,
        "sha256// and the output of openssl x509 -in CERTIFICATE -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64"
      )
      return false
    }
    if let path = sources.revocations, let error = Self.error(of: { $0.revocations = path }) {
      report.add(CredentialsCause.finding(error, about: path, file: nil))
      return false
    }
    if sources.acceptsAnyPeer {
      report.warning(
        "any-peer", "--dangerously-accept-any-peer",
        "anyone on the network path can read and change the data", "leave it out and give --ca")
    }
    return true
  }

  /// The library's error about these sources alone; nil if they are usable.
  static func error(of choose: (inout ProviderCredentials.Sources) -> Void) -> LibraryError? {
    var only = ProviderCredentials.Sources()
    choose(&only)
    do throws(LibraryError) {
      _ = try ProviderCredentials(only)
      return nil
    } catch {
      return error
    }
  }

  /// The CA certificates, for comparison.
  var certificates: [Certificate] {
    if let ca = sources.ca { return CredentialFile(ca)?.certificates ?? [] }
    return Self.system
  }

  /// The usual CA certificate files, unless SSL_CERT_FILE names another.
  static var system: [Certificate] {
    if let path = getenv("SSL_CERT_FILE") {
      return CredentialFile(String(cString: path))?.certificates ?? []
    }
    return (0...).lazy.map(SystemTrust.place).prefix { $0 != nil }
      .compactMap { $0.flatMap { CredentialFile("\($0)")?.certificates } }.first { !$0.isEmpty }
      ?? []
  }

  /// OpenSSL may find CA certificates in separate files, which this check does not read.
  static var hasDirectory: Bool {
    let name = getenv("SSL_CERT_DIR").map { String(cString: $0) } ?? "/etc/ssl/certs"
    guard let directory = opendir(name) else { return false }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
      if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
    }
    return false
  }
}
