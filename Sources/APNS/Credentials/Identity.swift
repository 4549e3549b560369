import CAPNS
import COpenSSL

/// What the provider shows: certificates, and the key to the first of them.
struct Identity: ~Copyable {
  private let certificates: OpaquePointer
  private(set) var key: OpaquePointer?

  @inline(never)
  init() throws(Failure) {
    guard let stack = copenssl_new_certificates() else { throw .outOfMemory }
    certificates = stack
  }

  deinit { Self.drop(certificates, key) }

  @inline(never)
  private static func drop(_ certificates: OpaquePointer, _ key: OpaquePointer?) {
    copenssl_free_certificates(certificates)
    EVP_PKEY_free(key)
  }

  var count: CInt { copenssl_certificate_count(certificates) }

  func certificate(_ index: CInt) -> OpaquePointer? { copenssl_certificate(certificates, index) }

  /// A chain has a handful; each is compared with the key, and shown in every handshake.
  private static let most: CInt = 100

  /// Takes the certificate over, whatever comes of it.
  @inline(never)
  mutating func append(
    _ certificate: OpaquePointer, from source: borrowing CredentialSource
  ) throws(Failure) {
    guard count < Self.most else {
      X509_free(certificate)
      throw source.fault("holds more than 100 certificates")
    }
    // OpenSSL takes one whose key it could not look at for want of memory, and later finds that
    // key too weak.
    guard !TLSErrors.takeExhausted(), !Self.lacksKeyForMemory(certificate),
      copenssl_append_certificate(certificates, certificate) > 0
    else {
      X509_free(certificate)
      throw .outOfMemory
    }
  }

  /// A certificate whose key could not be read for want of memory looks like one with a key of
  /// a kind that OpenSSL does not know, and will: one that is read anew tells.
  private static func lacksKeyForMemory(_ certificate: OpaquePointer) -> Bool {
    defer { TLSErrors.clear() }
    if X509_get0_pubkey(certificate) != nil { return false }
    guard let again = X509_dup(certificate) else { return true }
    defer { X509_free(again) }
    return X509_get0_pubkey(again) != nil
  }

  /// Takes the key over.
  mutating func adopt(_ key: OpaquePointer) {
    EVP_PKEY_free(self.key)
    self.key = key
  }

  /// Every certificate of the source, in its order, and from PKCS#12 the key with them.
  @inline(never)
  mutating func read(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) {
    if source.isPEM { return try readPEM(source) }
    if let file = try PKCS12File(source) {
      let opened = try file.open(source, &passphrase)
      if opened.key == nil {
        throw source.fault("is PKCS#12 without a private key", cause: APNS_CAUSE_KEY_MISSING)
      }
      if opened.count == 0 {
        throw source.fault(
          "is PKCS#12 without a certificate", cause: APNS_CAUSE_CERTIFICATE_MISSING)
      }
      self = opened
      return
    }
    let bio = try source.reader()
    defer { BIO_free(bio) }
    TLSErrors.clear()
    guard let certificate = d2i_X509_bio(bio, nil) else {
      try source.settle()
      throw source.fault(
        "holds no PEM certificate, and is neither DER nor PKCS#12",
        cause: APNS_CAUSE_CERTIFICATE_MISSING)
    }
    try append(certificate, from: source)
  }

  private mutating func readPEM(_ source: borrowing CredentialSource) throws(Failure) {
    let bio = try source.reader()
    defer { BIO_free(bio) }
    TLSErrors.clear()
    while let certificate = PEM_read_bio_X509(bio, nil, refusePassphrase, nil) {
      try append(certificate, from: source)
    }
    let errors = TLSErrors.take()
    if count == 0 {
      if errors.isNoMorePEM {
        throw source.fault("holds no PEM certificate", cause: APNS_CAUSE_CERTIFICATE_MISSING)
      }
      // Silence is want of memory too, for what is to be said takes some.
      if errors.code == 0 { throw .outOfMemory }
      throw source.fault("cannot be read", errors)
    }
    // Behind the last certificate OpenSSL finds no more; any other error is a broken one.
    if !errors.isNoMorePEM { throw source.fault("has a broken certificate in its chain", errors) }
  }

  /// Brings the key's certificate to the front; `source` is where the key stood.
  @inline(never)
  mutating func matchKey(from source: borrowing CredentialSource) throws(Failure) {
    TLSErrors.clear()
    for index in 0..<count {
      if X509_check_private_key(certificate(index), key) != 1 {
        // Another key's: or memory ran out, of which OpenSSL does not always tell.
        if copenssl_is_other_key(ERR_peek_last_error()) != 0 { continue }
        try source.settle()
        guard X509_check_private_key(certificate(index), key) == 1 else { continue }
      }
      TLSErrors.clear()
      copenssl_bring_certificate_to_front(certificates, index)
      return
    }
    throw source.fault(
      count == 1
        ? "holds a key that is not the certificate's"
        : "holds a key that is not the certificate's, nor any other's there",
      .take(), certificate: certificate(0), cause: APNS_CAUSE_KEY_MISMATCH)
  }

  /// The gateway would refuse a certificate out of its time.
  func checkDates(_ source: borrowing CredentialSource) throws(Failure) {
    guard let certificate = certificate(0) else { return }
    if X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 {
      throw source.fault(
        "holds a certificate that is not yet valid", certificate: certificate,
        cause: APNS_CAUSE_CERTIFICATE_NOT_YET_VALID)
    }
    if X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 {
      throw source.fault(
        "holds a certificate that has expired", certificate: certificate,
        cause: APNS_CAUSE_CERTIFICATE_EXPIRED)
    }
  }

  /// The first certificate is shown as the provider's, the others as its chain.
  @inline(never)
  func use(
    in context: OpaquePointer, _ source: borrowing CredentialSource
  ) throws(Failure) {
    TLSErrors.clear()
    for index in 0..<count {
      let fine =
        index == 0
        ? SSL_CTX_use_certificate(context, certificate(index))
        : copenssl_add_chain_certificate(context, certificate(index))
      if fine != 1 {
        throw source.fault(
          "cannot be used", .take(), certificate: certificate(index),
          cause: APNS_CAUSE_CERTIFICATE_UNFIT)
      }
    }
    guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1
    else {
      throw source.fault(
        "cannot be used with its key", .take(), cause: APNS_CAUSE_CERTIFICATE_UNFIT)
    }
  }
}

/// A certificate has no passphrase; without this OpenSSL would ask on the terminal
/// where a block claims to be encrypted.
func refusePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _ writing: CInt,
  _ request: UnsafeMutableRawPointer?
) -> CInt { -1 }
