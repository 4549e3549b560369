import BinaryServer
import COpenSSL

/// A new authority and the certificates it signed, as PEM. Its key is thrown away, so nobody can
/// sign in its name later.
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

  /// Some clients reject server certificates that live longer.
  private static let lifetime = 825 * 86400

  /// All RSA: some clients know nothing else.
  static func issue() throws(CertificateError) -> IssuedCertificates {
    let authority = try Party([
      (NID_commonName, "APNs simulator authority \(UInt32.random(in: 0 ... .max))")
    ])
    let server = try Party([(NID_commonName, "localhost")])
    let provider = try Party([
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

  /// A key for provider tokens in the form Apple issues it.
  static func tokenKey() throws(CertificateError) -> String {
    guard let key = KeyPair(.p256) else { throw failure }
    return key.pem
  }

  /// Carries OpenSSL's text.
  private static var failure: CertificateError {
    var words = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(ERR_get_error(), &words, words.count)
    ERR_clear_error()
    let said = String(
      decoding: words.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return CertificateError(path: "certificates", message: "cannot be made: \(said)")
  }

  private struct Party {
    let key: KeyPair
    let certificate: Certificate

    /// Not signed yet.
    init(_ names: [(kind: CInt, text: String)]) throws(CertificateError) {
      guard let key = KeyPair(.rsa2048), let blank = X509_new() else {
        throw IssuedCertificates.failure
      }
      self.key = key
      certificate = Certificate(blank)
      let subject = X509_get_subject_name(blank)
      for name in names {
        let bytes = Array(name.text.utf8)
        guard
          X509_NAME_add_entry_by_NID(
            subject, name.kind, MBSTRING_FLAG, bytes, CInt(bytes.count), -1, 0) == 1
        else { throw IssuedCertificates.failure }
      }
      guard X509_set_version(blank, 2) == 1, Self.setSerialNumber(of: blank),
        // So that a clock that is a little slow does not find them too new.
        X509_gmtime_adj(X509_getm_notBefore(blank), -86400) != nil,
        X509_gmtime_adj(X509_getm_notAfter(blank), lifetime) != nil,
        X509_set_pubkey(blank, key.handle) == 1
      else { throw IssuedCertificates.failure }
    }

    /// 159 random bits: positive, in 20 bytes (RFC 5280, 4.1.2.2).
    private static func setSerialNumber(of certificate: OpaquePointer) -> Bool {
      let number = BN_new()
      defer { BN_free(number) }
      return BN_rand(number, 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1
        && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    func sign(
      by issuer: Party, _ extensions: [(kind: CInt, text: String)]
    ) throws(CertificateError) {
      let (own, its) = (certificate.handle, issuer.certificate.handle)
      guard X509_set_issuer_name(own, X509_get_subject_name(its)) == 1 else {
        throw IssuedCertificates.failure
      }
      for part in extensions {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, its, own, nil, nil, 0)
        guard let made = X509V3_EXT_nconf_nid(nil, &context, part.kind, part.text) else {
          throw IssuedCertificates.failure
        }
        defer { X509_EXTENSION_free(made) }
        guard X509_add_ext(own, made, -1) == 1 else { throw IssuedCertificates.failure }
      }
      guard X509_sign(own, issuer.key.handle, EVP_sha256()) > 0 else {
        throw IssuedCertificates.failure
      }
    }
  }
}
