import COpenSSL

/// A key, and a certificate for it that is created here.
package struct CertifiedParty {
  /// Some clients reject server certificates with a longer lifetime.
  package static let lifetime = 825 * 86400

  package let key: KeyPair
  package let certificate: Certificate

  /// Not signed yet. `lifetime` is in seconds.
  package init(
    _ names: [(kind: CInt, text: String)], lifetime: Int = lifetime
  ) throws(ServerTLSError) {
    guard let key = KeyPair(.rsa2048), let blank = X509_new() else {
      throw Self.failure
    }
    self.key = key
    certificate = Certificate(blank)
    let subject = X509_get_subject_name(blank)
    for name in names {
      let bytes = Array(name.text.utf8)
      guard
        X509_NAME_add_entry_by_NID(
          subject, name.kind, MBSTRING_FLAG, bytes, CInt(bytes.count), -1, 0) == 1
      else { throw Self.failure }
    }
    guard X509_set_version(blank, 2) == 1, Self.setSerialNumber(of: blank),
      // Backdated, so that it is valid for clocks that are slow.
      X509_gmtime_adj(X509_getm_notBefore(blank), -86400) != nil,
      X509_gmtime_adj(X509_getm_notAfter(blank), lifetime) != nil,
      X509_set_pubkey(blank, key.handle) == 1
    else { throw Self.failure }
  }

  /// 159 random bits: positive, in 20 bytes (RFC 5280, 4.1.2.2).
  private static func setSerialNumber(of certificate: OpaquePointer) -> Bool {
    let number = BN_new()
    defer { BN_free(number) }
    return BN_rand(number, 159, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1
      && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
  }

  package func sign(
    by issuer: CertifiedParty, _ extensions: [(kind: CInt, text: String)]
  ) throws(ServerTLSError) {
    let (own, its) = (certificate.handle, issuer.certificate.handle)
    guard X509_set_issuer_name(own, X509_get_subject_name(its)) == 1 else {
      throw Self.failure
    }
    for part in extensions {
      var context = X509V3_CTX()
      X509V3_set_ctx(&context, its, own, nil, nil, 0)
      guard let made = X509V3_EXT_nconf_nid(nil, &context, part.kind, part.text) else {
        throw Self.failure
      }
      defer { X509_EXTENSION_free(made) }
      guard X509_add_ext(own, made, -1) == 1 else { throw Self.failure }
    }
    guard X509_sign(own, issuer.key.handle, EVP_sha256()) > 0 else {
      throw Self.failure
    }
  }

  private static var failure: ServerTLSError { .setUp(lastError) }

  /// OpenSSL's text for the first error, with its number.
  package static var lastError: String {
    var words = [CChar](repeating: 0, count: 256)
    ERR_error_string_n(ERR_get_error(), &words, words.count)
    ERR_clear_error()
    return String(decoding: words.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
