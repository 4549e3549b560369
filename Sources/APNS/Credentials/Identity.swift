import CAPNS
import COpenSSL

/// The provider's certificates, and the key to the first of them. While it is read there may be
/// several keys.
struct Identity: ~Copyable {
  private let certificates: OpaquePointer
  private let keys: OpaquePointer
  /// Which of the keys is that of the first certificate.
  private var place: CInt = 0

  @inline(never)
  init() throws(Failure) {
    guard let certificates = copenssl_new_certificates() else { throw .outOfMemory }
    guard let keys = copenssl_new_keys() else {
      copenssl_free_certificates(certificates)
      throw .outOfMemory
    }
    self.certificates = certificates
    self.keys = keys
  }

  deinit { Self.drop(certificates, keys) }

  @inline(never)
  private static func drop(_ certificates: OpaquePointer, _ keys: OpaquePointer) {
    copenssl_free_certificates(certificates)
    copenssl_free_keys(keys)
  }

  var key: OpaquePointer? { copenssl_key(keys, place) }

  var count: CInt { copenssl_certificate_count(certificates) }

  func certificate(_ index: CInt) -> OpaquePointer? { copenssl_certificate(certificates, index) }

  /// A chain has a handful of certificates. Each is compared with the key and shown in every
  /// handshake.
  private static let maximum: CInt = 100

  /// Takes over the certificate, even if this fails.
  @inline(never)
  mutating func append(
    _ certificate: OpaquePointer, from source: borrowing CredentialSource
  ) throws(Failure) {
    guard count < Self.maximum else {
      X509_free(certificate)
      throw source.fault("holds more than 100 certificates")
    }
    // If memory ran out while OpenSSL looked at the certificate's key, it takes the certificate and
    // later finds the key too weak.
    guard !TLSErrors.takeExhausted(), !Self.lacksKeyForMemory(certificate),
      copenssl_append_certificate(certificates, certificate) > 0
    else {
      X509_free(certificate)
      throw .outOfMemory
    }
  }

  /// A certificate with a key that could not be read because memory ran out looks like one with an
  /// unknown kind of key, and keeps looking so. A fresh copy of the certificate is different.
  private static func lacksKeyForMemory(_ certificate: OpaquePointer) -> Bool {
    defer { TLSErrors.clear() }
    if X509_get0_pubkey(certificate) != nil { return false }
    guard let again = X509_dup(certificate) else { return true }
    defer { X509_free(again) }
    return X509_get0_pubkey(again) != nil
  }

  /// Each key is compared with each certificate.
  private static let maxKeys: CInt = 20

  var hasRoomForKeys: Bool { copenssl_key_count(keys) < Self.maxKeys }

  /// Drops the keys that came with the certificates, if the options give another.
  mutating func dropKeys() { copenssl_drop_keys(keys) }

  /// Takes over the key, even if this fails.
  @inline(never)
  mutating func adopt(_ key: OpaquePointer) throws(Failure) {
    guard copenssl_append_key(keys, key) > 0 else {
      EVP_PKEY_free(key)
      throw .outOfMemory
    }
  }

  /// Reads every certificate of the source, in its order, and from PKCS#12 also the key.
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
        throw source.fault(
          "holds no PEM certificate", cause: APNS_CAUSE_CERTIFICATE_MISSING)
      }
      // No error also means that memory ran out, because reporting one takes memory.
      if errors.code == 0 { throw .outOfMemory }
      throw source.fault("cannot be read", errors)
    }
    // After the last certificate OpenSSL finds no more; any other error means a broken one.
    if !errors.isNoMorePEM { throw source.fault("has a broken certificate in its chain", errors) }
  }

  /// Chooses the certificate and its key, and moves it to the front; `source` is the keys' origin,
  /// or the certificate if the key is the application's.
  @inline(never)
  mutating func matchKey(
    from source: borrowing CredentialSource, isHosts: Bool = false
  ) throws(Failure) {
    TLSErrors.clear()
    var best: CInt?
    var rival: CInt?
    // The certificates that have a key here; one of them is shown. The others are in no chain.
    var owners = (UInt64(0), UInt64(0))
    for place in 0..<copenssl_key_count(keys) {
      for index in 0..<count where try isKey(copenssl_key(keys, place), of: index, source) {
        if index < 64 {
          owners.0 |= 1 << UInt64(index)
        } else {
          owners.1 |= 1 << UInt64(index & 63)
        }
        guard let chosen = best else {
          (best, self.place) = (index, place)
          continue
        }
        switch preference(index, to: chosen) {
        case .better: (best, rival, self.place) = (index, nil, place)
        case .equal: rival = index
        case .worse: break
        }
      }
    }
    guard let best else { throw mismatch(source, isHosts: isHosts) }
    if let rival { throw several(source, best, rival) }
    copenssl_bring_certificate_to_front(certificates, best)
    // From the last one on, so that earlier places do not move.
    let last = count &- 1
    for step in 0...last {
      let index = last &- step
      let isOwner =
        index < 64
        ? owners.0 >> UInt64(index) & 1 : owners.1 >> UInt64(index & 63) & 1
      guard index != best, isOwner == 1 else { continue }
      // Those before the best one have moved back by one place.
      copenssl_drop_certificate(certificates, index < best ? index &+ 1 : index)
    }
  }

  private enum Preference {
    case better
    case equal
    case worse
  }

  /// Whether a certificate with its key is preferred to another: first by use for pushing, then by
  /// being valid now, then by a later expiry if both are for the same app. Among certificates that
  /// are not for pushing the first is preferred.
  private func preference(_ index: CInt, to other: CInt) -> Preference {
    guard let new = certificate(index), let old = certificate(other) else { return .worse }
    let isForPushing = copenssl_push_uses(new) != 0
    if isForPushing != (copenssl_push_uses(old) != 0) { return isForPushing ? .better : .worse }
    guard isForPushing, index != other else { return .worse }
    let isTime = Self.isTime(new)
    if isTime != Self.isTime(old) { return isTime ? .better : .worse }
    guard copenssl_is_same_app(new, old) != 0 else { return .equal }
    return copenssl_ends_later(new, old) != 0 ? .better : .worse
  }

  private static func isTime(_ certificate: OpaquePointer) -> Bool {
    X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0
      && X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0
  }

  private func isKey(
    _ key: OpaquePointer?, of index: CInt, _ source: borrowing CredentialSource
  ) throws(Failure) -> Bool {
    if X509_check_private_key(certificate(index), key) != 1 {
      // The certificate belongs to another key, or memory ran out, which OpenSSL does not always
      // report.
      if copenssl_is_other_key(ERR_peek_last_error()) != 0 { return false }
      try source.settle()
      guard X509_check_private_key(certificate(index), key) == 1 else { return false }
    }
    TLSErrors.clear()
    return true
  }

  @inline(never)
  private func mismatch(_ source: borrowing CredentialSource, isHosts: Bool) -> Failure {
    source.fault(
      isHosts
        ? "holds no certificate that matches private_key"
        : count == 1
          ? "holds a key that does not match the certificate"
          : "holds a key that matches none of its certificates",
      .take(), certificate: certificate(0), cause: APNS_CAUSE_KEY_MISMATCH)
  }

  @inline(never)
  private func several(
    _ source: borrowing CredentialSource, _ one: CInt, _ other: CInt
  ) -> Failure {
    Failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_SEVERAL_IDENTITIES) {
      source.append(to: &$0)
      $0.append(" holds several identities for pushing: ")
      if let certificate = certificate(one) { $0.append(nameOf: certificate) }
      $0.append(" and ")
      if let certificate = certificate(other) { $0.append(nameOf: certificate) }
      $0.append("; keep one")
    }
  }

  /// The gateway would refuse a certificate outside its time of validity.
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

  /// Shows the first certificate as the provider's, the others as its chain.
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

/// A certificate has no passphrase. Without this callback OpenSSL would prompt on the terminal if a
/// block claims to be encrypted.
func refusePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _ writing: CInt,
  _ request: UnsafeMutableRawPointer?
) -> CInt { -1 }
