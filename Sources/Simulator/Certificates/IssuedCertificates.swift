import BinaryServer
import COpenSSL

/// A new CA certificate and the certificates it signed, as PEM. Its key is discarded, so it can
/// sign no more.
struct IssuedCertificates {
  var ca: String
  var server: String
  var serverKey: String
  var provider: String
  var providerKey: String

  static let topic = "com.example.app"

  /// Includes Apple's names, for clients that have them built in and reach the simulator through
  /// /etc/hosts.
  private static let names = [
    "DNS:localhost", "IP:127.0.0.1", "IP:::1", "DNS:gateway.push.apple.com",
    "DNS:gateway.sandbox.push.apple.com", "DNS:feedback.push.apple.com",
    "DNS:feedback.sandbox.push.apple.com", "DNS:api.push.apple.com",
    "DNS:api.sandbox.push.apple.com",
  ].joined(separator: ",")

  /// All RSA: some clients support nothing else.
  static func issue() throws(CertificateError) -> IssuedCertificates {
    do throws(ServerTLSError) {
      return try made()
    } catch {
      throw failure(error)
    }
  }

  private static func made() throws(ServerTLSError) -> IssuedCertificates {
    let authority = try CertifiedParty([
      (NID_commonName, "APNs simulator authority \(UInt32.random(in: 0 ... .max))")
    ])
    let server = try CertifiedParty([(NID_commonName, "localhost")])
    let provider = try CertifiedParty([
      // Where Apple puts the topic.
      (NID_userId, topic), (NID_commonName, "Apple Push Services: \(topic)"),
    ])
    try authority.sign(
      by: authority,
      [
        (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
        (NID_key_usage, "critical,keyCertSign,cRLSign"),
        (NID_subject_key_identifier, "hash"),
      ])
    try server.sign(
      by: authority,
      [
        (NID_basic_constraints, "critical,CA:FALSE"),
        (NID_key_usage, "critical,digitalSignature,keyEncipherment"),
        (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, names),
        (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
      ])
    try provider.sign(
      by: authority,
      [
        (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"),
        (NID_ext_key_usage, "clientAuth"), (NID_subject_key_identifier, "hash"),
        (NID_authority_key_identifier, "keyid:always"),
      ])
    return IssuedCertificates(
      ca: authority.certificate.pem, server: server.certificate.pem, serverKey: server.key.pem,
      provider: provider.certificate.pem, providerKey: provider.key.pem)
  }

  /// A signing key in the format that Apple issues.
  static func tokenKey() throws(CertificateError) -> String {
    guard let key = KeyPair(.p256) else { throw failure(.setUp(CertifiedParty.lastError)) }
    return key.pem
  }

  private static func failure(_ error: ServerTLSError) -> CertificateError {
    CertificateError(path: "certificates", message: "cannot be made: \(error.text)")
  }
}
