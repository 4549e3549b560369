import CAPNS
import COpenSSL

/// A Keychain export: a key, its certificate and often the chain, under one passphrase.
struct PKCS12File: ~Copyable {
  private let file: OpaquePointer

  /// Nil if the bytes are something else.
  init?(_ source: borrowing CredentialSource) throws(Failure) {
    TLSErrors.clear()
    let decoded = try Self.decode(source, nil)
    guard let decoded else {
      try source.settle()
      return nil
    }
    file = decoded
  }

  deinit { PKCS12_free(file) }

  @inline(never)
  private static func decode(
    _ source: borrowing CredentialSource, _ legacy: UnsafePointer<copenssl_legacy_t>?
  ) throws(Failure) -> OpaquePointer? {
    let bio = try source.reader()
    defer { BIO_free(bio) }
    return copenssl_read_pkcs12(bio, legacy)
  }

  /// The file's keys and certificates.
  @inline(never)
  func open(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> Identity {
    let text = try unlock(source, &passphrase)
    var identity = try Identity()
    TLSErrors.clear()
    if try Self.take(file, source, text, nil, &passphrase.budget, into: &identity) {
      return identity
    }
    var errors = TLSErrors.take()
    if errors.isUnsupported {
      guard var legacy = LegacyCiphers() else { throw PrivateKey.needsLegacy(source) }
      identity = try Identity()
      if let again = try Self.decode(source, &legacy.context) {
        defer { PKCS12_free(again) }
        if try Self.take(again, source, text, &legacy.context, &passphrase.budget, into: &identity)
        {
          return identity
        }
      }
      errors = TLSErrors.take()
    }
    // No error also means that memory ran out, because reporting one takes memory.
    if errors.code == 0 { throw .outOfMemory }
    throw source.fault("is PKCS#12 that cannot be read", errors)
  }

  /// The passphrase that the file's checksum confirms; nil for no passphrase.
  @inline(never)
  private func unlock(
    _ source: borrowing CredentialSource, _ passphrase: inout Passphrase
  ) throws(Failure) -> UnsafePointer<CChar>? {
    TLSErrors.clear()
    guard PKCS12_mac_present(file) == 1 else {
      throw source.fault("is PKCS#12 without a checksum")
    }
    // No passphrase and an empty one differ, and programs write either.
    let work = copenssl_mac_work(file)
    try passphrase.budget.charge(work, source)
    if PKCS12_verify_mac(file, nil, 0) == 1 { return nil }
    try source.settle()
    try passphrase.budget.charge(work, source)
    let empty = copenssl_empty_text()
    if PKCS12_verify_mac(file, empty, 0) == 1 { return empty }
    try source.settle()
    guard let text = passphrase.text() else {
      throw source.fault(
        passphrase.isMissing
          ? "is PKCS#12 that needs a passphrase" : "is PKCS#12 that the passphrase does not open",
        cause: passphrase.isMissing ? APNS_CAUSE_PASSPHRASE_MISSING : APNS_CAUSE_PASSPHRASE_WRONG)
    }
    try passphrase.budget.charge(work, source)
    if PKCS12_verify_mac(file, text, -1) == 1 { return text }
    // A wrong passphrase leaves no error. Any other error may mean that memory ran out, which
    // OpenSSL does not always report, so this tries once more.
    if ERR_peek_error() != 0 {
      try source.settle()
      try passphrase.budget.charge(work, source)
      if PKCS12_verify_mac(file, text, -1) == 1 { return text }
    }
    throw source.fault(
      "is PKCS#12 that the passphrase does not open", .take(), cause: APNS_CAUSE_PASSPHRASE_WRONG)
  }

  /// Adds all keys and certificates to `identity`. False if OpenSSL cannot; see its errors. OpenSSL
  /// 3.0's own PKCS12_parse() looks for a key's cipher only in the application's context.
  @inline(never)
  private static func take(
    _ file: OpaquePointer, _ source: borrowing CredentialSource, _ text: UnsafePointer<CChar>?,
    _ legacy: UnsafePointer<copenssl_legacy_t>?, _ budget: inout UnlockBudget,
    into identity: inout Identity
  ) throws(Failure) -> Bool {
    guard let safes = PKCS12_unpack_authsafes(file) else { return false }
    defer { copenssl_free_safes(safes) }
    for index in 0..<copenssl_safe_count(safes) {
      try budget.charge(copenssl_safe_work(safes, index), source)
      guard let bags = copenssl_unlock_safe(safes, index, text) else { return false }
      defer { copenssl_free_bags(bags) }
      for index in 0..<copenssl_bag_count(bags) {
        let bag = copenssl_bag(bags, index)
        switch PKCS12_SAFEBAG_get_nid(bag) {
        case NID_keyBag, NID_pkcs8ShroudedKeyBag:
          guard identity.hasRoomForKeys else { continue }
          do throws(Failure) {
            if let key = try key(in: bag, source, text, legacy, &budget) {
              try identity.adopt(key)
            } else if identity.key == nil {
              return false
            }
          } catch {
            // A usable key may be enough.
            if identity.key == nil || error.status == APNS_ERR_MEMORY { throw error }
          }
        case NID_certBag where PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate:
          guard let certificate = PKCS12_SAFEBAG_get1_cert(bag) else { return false }
          try identity.append(certificate, from: source)
        default: break
        }
      }
    }
    return true
  }

  /// Nil if OpenSSL cannot read it; its errors have the reason.
  private static func key(
    in bag: OpaquePointer?, _ source: borrowing CredentialSource, _ text: UnsafePointer<CChar>?,
    _ legacy: UnsafePointer<copenssl_legacy_t>?, _ budget: inout UnlockBudget
  ) throws(Failure) -> OpaquePointer? {
    if PKCS12_SAFEBAG_get_nid(bag) == NID_keyBag {
      return try PrivateKey.make(of: PKCS12_SAFEBAG_get0_p8inf(bag), source)
    }
    try budget.charge(copenssl_bag_work(bag), source)
    guard let opened = copenssl_unlock_key(bag, text, legacy) else { return nil }
    // This wipes the key too.
    defer { PKCS8_PRIV_KEY_INFO_free(opened) }
    return try PrivateKey.make(of: opened, source)
  }
}
