import CAPNS
import COpenSSL
import CSystem

/// Reads a private key, an EVP_PKEY, in every form that it comes in.
enum PrivateKey {
  /// The source's first key; the caller frees it.
  static func first(
    of source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    var identity = try Identity()
    try read(source, &passphrase, into: &identity, onlyFirst: true)
    guard let key = identity.key, EVP_PKEY_up_ref(key) == 1 else { throw .outOfMemory }
    return key
  }

  /// Adds the source's keys to `identity`. There is one at least, or this fails.
  @inline(never)
  static func read(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase,
    into identity: inout Identity, onlyFirst: Bool = false
  ) throws(Failure) {
    guard source.isPEM else { return try identity.adopt(readDER(source, &passphrase)) }
    let bio = try source.reader()
    defer { BIO_free(bio) }
    while identity.hasRoomForKeys {
      do throws(Failure) {
        guard let key = try next(bio, source, &passphrase) else { break }
        try identity.adopt(key)
        if onlyFirst { return }
      } catch {
        // A usable key may be enough.
        if identity.key == nil || error.status == APNS_ERR_MEMORY { throw error }
        return
      }
    }
    guard identity.key == nil else { return }
    throw source.fault(
      "holds no private key in PEM", cause: APNS_CAUSE_KEY_MISSING)
  }

  /// The next PEM key; nil at the end. Reads block by block: OpenSSL's own function decrypts before
  /// anybody can check what that costs, and does so more than once.
  private static func next(
    _ bio: OpaquePointer, _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer? {
    while true {
      var name: UnsafeMutablePointer<CChar>?
      var header: UnsafeMutablePointer<CChar>?
      var bytes: UnsafeMutablePointer<UInt8>?
      var count = 0
      TLSErrors.clear()
      guard PEM_read_bio(bio, &name, &header, &bytes, &count) == 1 else {
        let errors = TLSErrors.take()
        if errors.isNoMorePEM { return nil }
        throw source.fault("holds a key that cannot be read", errors)
      }
      let room = count
      defer {
        copenssl_free(name)
        copenssl_free(header)
        copenssl_wipe_and_free(bytes, room)
      }
      guard let name, let bytes, let kind = BlockKind(name) else { continue }
      if header?.pointee == 0, isCut(bytes, count) {
        throw source.fault("holds a key that cannot be read: it is cut short")
      }
      if kind == .locked {
        var next = UnsafePointer<UInt8>?(bytes)
        guard let locked = d2i_X509_SIG(nil, &next, count) else {
          throw source.fault("holds a key that cannot be read", .take())
        }
        defer { X509_SIG_free(locked) }
        return try unlock(locked, source, &passphrase)
      }
      // The older encryption hashes the passphrase once (RFC 1421, 4.6).
      var cipher = EVP_CIPHER_INFO()
      guard PEM_get_EVP_CIPHER_INFO(header, &cipher) == 1,
        withUnsafeMutablePointer(
          to: &passphrase, { PEM_do_header(&cipher, bytes, &count, givePassphrase, $0) }) == 1
      else { throw unopened(source, passphrase, .take()) }
      if let key = try make(of: bytes, count, source) { return key }
      throw unopened(source, passphrase, .take())
    }
  }

  /// DER with a length of more bytes than exist.
  private static func isCut(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    guard count > 1, bytes[0] == 0x30 else { return false }
    let sizeBytes = bytes[1] < 0x80 ? 0 : Int(bytes[1] & 0x7F)
    guard sizeBytes <= 3 else { return false }
    guard count > 2 &+ sizeBytes else { return true }
    var length = sizeBytes == 0 ? Int(bytes[1]) : 0
    for index in 0..<sizeBytes { length = length << 8 | Int(bytes[2 &+ index]) }
    return length > count &- 2 &- sizeBytes
  }

  /// The kind of a PEM block, by its name.
  private enum BlockKind {
    /// Encrypted PKCS#8.
    case locked
    /// PKCS#8, or an older form.
    case plain

    /// Nil if it is not a private key.
    init?(_ name: UnsafePointer<CChar>) {
      let name = UnsafeRawBufferPointer(start: name, count: strlen(name))
      guard name.ends(with: "PRIVATE KEY") else { return nil }
      self = name.starts(with: "ENCRYPTED ") ? .locked : .plain
    }
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
    if let start = source.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      let key = try make(of: start, source.bytes.count, source)
    {
      return key
    }
    try source.settle()
    if let start = source.bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
      isCut(start, source.bytes.count)
    {
      throw source.fault("holds a key that cannot be read: it is cut short")
    }
    throw source.fault(
      "holds no private key in PEM or DER", cause: APNS_CAUSE_KEY_MISSING)
  }

  // MARK: Keys that are not encrypted, or no longer

  /// More than an RSA key of 16,384 bits takes in any form.
  private static let largest = 16 << 10

  /// The key in these bytes, in PKCS#8 or an older form. Nil if it cannot be read; OpenSSL's errors
  /// have the reason.
  private static func make(
    of bytes: UnsafePointer<UInt8>, _ count: Int, _ source: borrowing CredentialSource
  ) throws(Failure) -> OpaquePointer? {
    var next = UnsafePointer<UInt8>?(bytes)
    if let opened = d2i_PKCS8_PRIV_KEY_INFO(nil, &next, count) {
      defer { PKCS8_PRIV_KEY_INFO_free(opened) }
      return try make(of: opened, source)
    }
    try source.settle()
    guard count <= largest else {
      throw source.fault("holds a key that is too large", cause: APNS_CAUSE_KEY_UNFIT)
    }
    next = bytes
    guard let key = d2i_AutoPrivateKey(nil, &next, count) else { return nil }
    return try checked(key, count, source)
  }

  /// The key in PKCS#8 that has been read.
  @inline(never)
  static func make(
    of opened: OpaquePointer?, _ source: borrowing CredentialSource
  ) throws(Failure) -> OpaquePointer? {
    let count = Int(copenssl_private_length(opened))
    guard count > 0 else {
      throw source.fault("holds a key that is neither RSA nor EC", cause: APNS_CAUSE_KEY_UNFIT)
    }
    guard count <= largest else {
      throw source.fault("holds a key that is too large", cause: APNS_CAUSE_KEY_UNFIT)
    }
    guard let key = EVP_PKCS82PKEY(opened) else { return nil }
    return try checked(key, count, source)
  }

  /// Accepts a key only if signing with it takes no longer than usual for its kind.
  private static func checked(
    _ key: OpaquePointer, _ count: Int, _ source: borrowing CredentialSource
  ) throws(Failure) -> OpaquePointer {
    guard copenssl_is_quick(key, count) == 1 else {
      EVP_PKEY_free(key)
      try source.settle()
      throw source.fault(
        "holds a key that is neither RSA nor EC, or is too large",
        cause: APNS_CAUSE_KEY_UNFIT)
    }
    return key
  }

  /// Decrypts PKCS#8. The key belongs to the application's context, even if decrypted in another.
  @inline(never)
  private static func unlock(
    _ locked: OpaquePointer, _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> OpaquePointer {
    guard let text = passphrase.text() else { throw unopened(source, passphrase, .none) }
    let work = copenssl_pkcs8_work(locked)
    try passphrase.budget.charge(work, source)
    TLSErrors.clear()
    var opened = copenssl_unlock_pkcs8(locked, text, nil)
    var errors = TLSErrors.take()
    if opened == nil, errors.isUnsupported {
      guard var legacy = LegacyCiphers() else { throw needsLegacy(source) }
      try passphrase.budget.charge(work, source)
      opened = copenssl_unlock_pkcs8(locked, text, &legacy.context)
      errors = TLSErrors.take()
    }
    guard let opened else { throw unopened(source, passphrase, errors) }
    // This wipes the key too.
    defer { PKCS8_PRIV_KEY_INFO_free(opened) }
    guard let key = try make(of: opened, source) else {
      throw unopened(source, passphrase, .take())
    }
    return key
  }

  @inline(never)
  private static func unopened(
    _ source: borrowing CredentialSource, _ passphrase: borrowing Passphrase, _ errors: TLSErrors
  ) -> Failure {
    if !passphrase.wasNeeded { return source.fault("holds a key that cannot be read", errors) }
    if passphrase.isMissing {
      return source.fault(
        "holds a key that needs a passphrase", errors, cause: APNS_CAUSE_PASSPHRASE_MISSING)
    }
    return source.fault(
      "holds a key that the passphrase does not open", errors, cause: APNS_CAUSE_PASSPHRASE_WRONG)
  }

  @inline(never)
  static func needsLegacy(_ source: borrowing CredentialSource) -> Failure {
    source.fault(
      "is encrypted with RC2 or DES, which needs OpenSSL's legacy provider; it is not installed",
      cause: APNS_CAUSE_LEGACY_PROVIDER)
  }
}
