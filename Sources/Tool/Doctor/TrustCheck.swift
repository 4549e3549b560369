import APNS
import BinaryServer
import Client
import Glibc

/// Checks the CA certificates that the provider trusts.
struct TrustCheck {
  var sources: ProviderCredentials.Sources

  /// Whether they are usable.
  func run(_ report: inout Report) -> Bool {
    var only = ProviderCredentials.Sources()
    only.ca = sources.ca
    do throws(LibraryError) {
      _ = try ProviderCredentials(only)
    } catch {
      let path = sources.ca ?? "the system's trust store"
      report.add(
        CredentialsCause.finding(
          error, about: path, file: sources.ca.flatMap { CredentialFile($0) }))
      return false
    }
    guard pinsAreRead(&report), listsAreRead(&report) else { return false }
    if sources.acceptsAnyPeer {
      report.warning(
        "any-peer", "--dangerously-accept-any-peer",
        "anyone on the network path can read and change the data", "leave it out and give --ca")
    }
    return true
  }

  private func pinsAreRead(_ report: inout Report) -> Bool {
    var only = ProviderCredentials.Sources()
    only.pins = sources.pins
    do throws(LibraryError) {
      _ = try ProviderCredentials(only)
      return true
    } catch {
      report.problem(
        "pin-malformed", "--pin", error.message,
        "sha256// and the output of openssl x509 -in CERTIFICATE -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64"
      )
      return false
    }
  }

  private func listsAreRead(_ report: inout Report) -> Bool {
    guard let path = sources.revocations else { return true }
    var only = ProviderCredentials.Sources()
    only.revocations = path
    do throws(LibraryError) {
      _ = try ProviderCredentials(only)
      return true
    } catch {
      report.add(CredentialsCause.finding(error, about: path, file: nil))
      return false
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
