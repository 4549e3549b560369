import BinaryServer
import COpenSSL
import Foundation

/// The certificate of a listener without a configured one. It is created when the listener first
/// opens, with a CA that clients may trust. The private key of the CA is not kept.
struct ListenerCertificate {
  let certificate: String
  let key: String
  /// The CA certificate, for clients that verify the server.
  let authority: String

  /// `base` is the path that the files' names begin with.
  init(_ base: String) {
    certificate = base + ".pem"
    key = base + ".key"
    authority = base + "-ca.pem"
  }

  private static let names = [
    "DNS:localhost", "IP:127.0.0.1", "IP:::1", "DNS:gateway.push.apple.com",
    "DNS:gateway.sandbox.push.apple.com", "DNS:feedback.push.apple.com",
    "DNS:feedback.sandbox.push.apple.com",
  ]
  /// The end of 2037: old clients store seconds in 32 bits, and nothing renews the certificates
  /// that they trust.
  private static let end = 2_145_830_400

  /// Returns true if it was created now. A lock prevents relays that start together from creating
  /// it twice.
  func prepare() throws -> Bool {
    let lock = open(key + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0 else { throw Self.fault(key, String(cString: strerror(errno))) }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw Self.fault(key, String(cString: strerror(errno))) }
    }
    defer { unlink(key + ".lock") }
    let there = [certificate, key].filter { FileManager.default.fileExists(atPath: $0) }
    if there.count == 2 { return false }
    if let one = there.first {
      throw Self.fault(one, "its certificate or key is missing: restore it, or remove this one")
    }
    do {
      try make()
    } catch let error as ServerTLSError {
      throw Self.fault(certificate, "cannot be created: \(error.text)")
    }
    return true
  }

  private func make() throws {
    let name = SocketName.ofHost
    let isName = name.utf8.allSatisfy {
      $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0)
        || (0x61...0x7A).contains($0 | 0x20)
    }
    let names = Self.names + (isName && !name.isEmpty ? ["DNS:\(name)"] : [])
    let lifetime = max(CertifiedParty.lifetime, Self.end - time(nil))
    let ca = try CertifiedParty(
      [(NID_commonName, "apns-relay authority \(UInt32.random(in: 0 ... .max))")],
      lifetime: lifetime)
    // RSA, because some clients support only that.
    let server = try CertifiedParty(
      [(NID_commonName, "gateway.push.apple.com")], lifetime: lifetime)
    try ca.sign(
      by: ca,
      [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
        (NID_key_usage, "critical,keyCertSign,cRLSign"), (NID_subject_key_identifier, "hash"),
      ])
    try server.sign(
      by: ca,
      [
        (NID_basic_constraints, "critical,CA:FALSE"),
        (NID_key_usage, "critical,digitalSignature,keyEncipherment"),
        (NID_ext_key_usage, "serverAuth"),
        (NID_subject_alt_name, names.joined(separator: ",")),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ])
    try Self.write(ca.certificate.pem, to: authority)
    try Self.write(server.certificate.pem + ca.certificate.pem, to: certificate)
    try Self.write(server.key.pem, to: key)
  }

  private static func write(_ text: String, to file: String) throws {
    unlink(file)
    let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw fault(file, String(cString: strerror(errno))) }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
      throw fault(file, String(cString: strerror(errno)))
    }
  }

  private static func fault(_ file: String, _ words: String) -> RelayFault {
    RelayFault("\(file): \(words)")
  }
}
