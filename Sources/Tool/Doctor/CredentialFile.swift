import BinaryServer
import Glibc

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The raw content of a certificate or key file.
struct CredentialFile {
  enum Form { case pem, pkcs12, der, other }

  let path: String
  private let bytes: [UInt8]
  private let mode: mode_t

  /// nil if the file cannot be read; the library reports the reason.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= 1 << 20,
      let bytes = try? WholeText.read(path)
    else { return nil }
    self.path = path
    self.bytes = bytes
    mode = status.st_mode
  }

  /// The PEM labels after BEGIN, in order.
  var labels: [String] { PEMBlock.all(in: bytes).map(\.label) }

  var form: Form {
    if !PEMBlock.all(in: bytes).isEmpty { return .pem }
    guard bytes.first == 0x30 else { return .other }
    // A PFX begins with its version, the INTEGER 3; a certificate with a SEQUENCE.
    let header = bytes.count > 1 && bytes[1] & 0x80 != 0 ? 2 + Int(bytes[1] & 0x7F) : 2
    return bytes.dropFirst(header).starts(with: [0x02, 0x01, 0x03]) ? .pkcs12 : .der
  }

  var certificates: [Certificate] {
    switch form {
    case .pem:
      PEMBlock.all(in: bytes).compactMap {
        $0.label.hasSuffix("CERTIFICATE") ? Certificate(der: $0.bytes) : nil
      }
    case .der: Certificate(der: bytes).map { [$0] } ?? []
    case .pkcs12, .other: []
    }
  }

  private var holdsSecret: Bool {
    switch form {
    case .pem: labels.contains { $0.hasSuffix("PRIVATE KEY") }
    case .pkcs12: true
    case .der: certificates.isEmpty
    case .other: false
    }
  }

  /// A warning if other users may read the key.
  var exposure: Finding? {
    guard holdsSecret, mode & (S_IROTH | S_IWOTH) != 0 else { return nil }
    return .warning(
      "key-file-open", path,
      "everyone on this machine can \(mode & S_IROTH == 0 ? "change" : "read") the key in it (mode \(String(mode & 0o7777, radix: 8)))",
      "chmod 600 \(path), and make the user that sends the pushes its owner")
  }

  /// The same warning for a passphrase file.
  static func exposure(ofPassphrase path: String) -> Finding? {
    guard let file = CredentialFile(path), file.mode & (S_IROTH | S_IWOTH) != 0 else { return nil }
    return .warning(
      "passphrase-file-open", path, "everyone on this machine can use the passphrase in it",
      "chmod 600 \(path), and make the user that sends the pushes its owner")
  }

  /// Ciphers that OpenSSL 3 keeps in its legacy provider.
  var oldCipher: Finding? {
    guard form == .pkcs12 else { return nil }
    // 1.2.840.113549.1.12.1.n (RFC 7292, appendix C)
    let kinds: [(UInt8, String)] = [
      (1, "RC4"), (2, "RC4"), (5, "RC2 of 128 bits"), (6, "RC2 of 40 bits"),
    ]
    let prefix: [UInt8] = [0x06, 0x0A, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x0C, 0x01]
    guard let kind = kinds.first(where: { bytes.contains(prefix + [$0.0]) }) else { return nil }
    return .warning(
      "pkcs12-old-cipher", path,
      "is encrypted with \(kind.1), which needs OpenSSL 3's legacy provider: the library loads it if it is installed, other programs often do not",
      "write it again: openssl pkcs12 -legacy -in \(path) -nodes -out provider.pem, and chmod 600 that"
    )
  }
}
