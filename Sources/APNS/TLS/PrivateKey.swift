import CAPNS
import COpenSSL

/// Reading a private key, an EVP_PKEY, in every form it comes in.
enum PrivateKey {
  /// The source's first key; the caller frees it.
  @inline(never)
  static func read(
    from source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    if source.isPEM { return try readPEM(source, &passphrase) }
    return try readDER(source, &passphrase)
  }

  private static func readPEM(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    // The marker of every kind of PEM private key; OpenSSL 3 says "unsupported" of a
    // text without one.
    guard source.contains("PRIVATE KEY-----") else {
      throw source.fault("holds no PEM private key")
    }
    // The PEM functions would open it before anybody could look at it.
    if let locked = try readLockedPEM(source) {
      defer { X509_SIG_free(locked) }
      try source.check(iterations: copenssl_pkcs8_iterations(locked))
    }
    let bio = try source.reader()
    defer { BIO_free(bio) }
    TLSErrors.clear()
    let key = withUnsafeMutablePointer(to: &passphrase) {
      PEM_read_bio_PrivateKey(bio, nil, givePassphrase, $0)
    }
    if let key { return key }
    let errors = TLSErrors.take()
    if errors.isNoMorePEM { throw source.fault("holds no PEM private key") }
    if errors.isUnsupported, passphrase.wasNeeded, !passphrase.isMissing {
      if let locked = try readLockedPEM(source) {
        defer { X509_SIG_free(locked) }
        return try unlock(locked, source, &passphrase)
      }
    }
    throw unopened(source, passphrase, errors)
  }

  /// The first key in PKCS#8 that is encrypted.
  private static func readLockedPEM(
    _ source: borrowing CredentialSource
  ) throws(Failure) -> OpaquePointer? {
    let bio = try source.reader()
    defer { BIO_free(bio) }
    TLSErrors.clear()
    let locked = PEM_read_bio_PKCS8(bio, nil, refusePassphrase, nil)
    if locked == nil { try source.settle() }
    return locked
  }

  private static func readDER(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    let bio = try source.reader()
    defer { BIO_free(bio) }
    TLSErrors.clear()
    if let locked = d2i_PKCS8_bio(bio, nil) {
      defer { X509_SIG_free(locked) }
      return try unlock(locked, source, &passphrase)
    }
    try source.settle()
    var next = source.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    if let key = d2i_AutoPrivateKey(nil, &next, source.bytes.count) { return key }
    try source.settle()
    throw source.fault("holds no PEM private key, and none in DER")
  }

  /// Decrypts PKCS#8. The key is of the program's own context whatever opened it.
  @inline(never)
  private static func unlock(
    _ locked: OpaquePointer, _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    try source.check(iterations: copenssl_pkcs8_iterations(locked))
    guard let text = passphrase.text() else { throw unopened(source, passphrase, .none) }
    TLSErrors.clear()
    var opened = copenssl_unlock_pkcs8(locked, text, nil)
    var errors = TLSErrors.take()
    if opened == nil, errors.isUnsupported {
      guard var legacy = LegacyCiphers() else { throw needsLegacy(source) }
      opened = copenssl_unlock_pkcs8(locked, text, &legacy.context)
      errors = TLSErrors.take()
    }
    guard let opened else { throw unopened(source, passphrase, errors) }
    // Wipes what it holds.
    defer { PKCS8_PRIV_KEY_INFO_free(opened) }
    guard let key = EVP_PKCS82PKEY(opened) else { throw unopened(source, passphrase, .take()) }
    return key
  }

  @inline(never)
  private static func unopened(
    _ source: borrowing CredentialSource, _ passphrase: borrowing Passphrase, _ errors: TLSErrors
  ) -> Failure {
    if !passphrase.wasNeeded { return source.fault("holds a key that cannot be read", errors) }
    if passphrase.isMissing { return source.fault("holds a key that needs a passphrase", errors) }
    return source.fault("holds a key that the passphrase does not open", errors)
  }

  @inline(never)
  static func needsLegacy(_ source: borrowing CredentialSource) -> Failure {
    source.fault(
      "is encrypted with RC2 or DES, which takes OpenSSL's legacy provider; it is not installed")
  }
}
