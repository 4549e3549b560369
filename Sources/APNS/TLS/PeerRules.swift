import CAPNS
import COpenSSL
import CSystem

/// SHA-256 of a certificate's SubjectPublicKeyInfo.
typealias KeyDigest = InlineArray<32, UInt8>

/// Conditions for a peer beside a chain to a trust anchor: pinned keys and lists of revoked
/// certificates. OpenSSL's callbacks read this while a context is in use, so it exists as long as
/// the last user of the context.
struct PeerRules: ~Copyable {
  /// Nobody has this many issuers; a larger count is a mistake.
  private static let maxPins = 100
  /// The lists of large CAs take a few MB.
  private static let largestFile = 64 << 20

  private struct Shared {
    var users: UInt32
    var pinCount: Int
    /// An X509_STORE that holds only lists; nil if none are checked.
    var lists: OpaquePointer?
  }

  /// The pins follow it in memory.
  private let shared: UnsafeMutablePointer<Shared>

  /// Nil if the options set no rules.
  @inline(never)
  init?(_ options: apns_credentials_options_t) throws(Failure) {
    if options.pinned_keys == nil, options.pinned_key_count == 0,
      options.crl_file == nil, options.crl_directory == nil
    {
      return nil
    }
    let count = try Self.checkedCount(options)
    guard
      let memory = malloc(
        MemoryLayout<Shared>.stride &+ count &* MemoryLayout<KeyDigest>.stride)
    else { throw .outOfMemory }
    let shared = memory.bindMemory(to: Shared.self, capacity: 1)
    shared.initialize(to: Shared(users: 1, pinCount: count, lists: nil))
    do throws(Failure) {
      for index in 0..<count {
        Self.pins(shared)[index] = try Self.decode(options.pinned_keys[index], index)
      }
      if options.dangerously_accept_any_peer == 0 {
        shared.pointee.lists = try Self.readLists(options)
      }
    } catch {
      free(shared)
      throw error
    }
    self.shared = shared
  }

  /// Adds a user of the same rules.
  init(sharing other: borrowing PeerRules) {
    shared = other.shared
    _ = csystem_atomic_add(&shared.pointee.users, 1)
  }

  deinit { Self.release(shared) }

  @inline(never)
  private static func release(_ shared: UnsafeMutablePointer<Shared>) {
    guard csystem_atomic_add(&shared.pointee.users, .max) == 0 else { return }
    X509_STORE_free(shared.pointee.lists)
    free(shared)
  }

  private static func pins(
    _ shared: UnsafeMutablePointer<Shared>
  ) -> UnsafeMutablePointer<KeyDigest> {
    (UnsafeMutableRawPointer(shared) + MemoryLayout<Shared>.stride)
      .assumingMemoryBound(to: KeyDigest.self)
  }

  // MARK: Reading the options

  private static func checkedCount(_ options: apns_credentials_options_t) throws(Failure) -> Int {
    let count = options.pinned_key_count
    if options.pinned_keys == nil, count == 0 { return 0 }
    if options.pinned_keys == nil {
      throw Failure(APNS_ERR_ARGUMENT, "pinned_keys is NULL, but pinned_key_count is not 0")
    }
    // A caller with an empty list of pins must not end up without the check.
    guard count >= 1, count <= maxPins else {
      throw Failure(APNS_ERR_ARGUMENT, "pinned_key_count is not between 1 and 100")
    }
    return count
  }

  private static func decode(
    _ text: UnsafePointer<CChar>?, _ index: Int
  ) throws(Failure) -> KeyDigest {
    let prefix: StaticString = "sha256//"
    let start = prefix.utf8CodeUnitCount
    // 43 digits and one padding character.
    if let text, strlen(text) == start &+ 44, memcmp(text, prefix.utf8Start, start) == 0,
      let digest = decode(digits: text + start)
    {
      return digest
    }
    throw Failure(APNS_ERR_ARGUMENT) {
      $0.append("pinned_keys[")
      $0.append(index)
      $0.append("] is not sha256// followed by 32 bytes in base64: ")
      if let text { $0.append(text) } else { $0.append("NULL") }
    }
  }

  private static func decode(digits: UnsafePointer<CChar>) -> KeyDigest? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 33 &+ 45) { buffer in
      guard let bytes = buffer.baseAddress else { return nil }
      let again = bytes + 33
      let given = UnsafeRawPointer(digits).assumingMemoryBound(to: UInt8.self)
      // OpenSSL's decoder skips spaces and much else, so the result has to encode to the same text.
      guard EVP_DecodeBlock(bytes, given, 44) == 33, EVP_EncodeBlock(again, bytes, 32) == 44,
        memcmp(again, given, 44) == 0
      else { return nil }
      var digest = KeyDigest(repeating: 0)
      for index in 0..<32 { digest[index] = bytes[index] }
      return digest
    }
  }

  /// Nil if there is neither a file nor a directory.
  private static func readLists(
    _ options: apns_credentials_options_t
  ) throws(Failure) -> OpaquePointer? {
    if options.crl_file == nil, options.crl_directory == nil { return nil }
    guard let lists = X509_STORE_new() else { throw .outOfMemory }
    do throws(Failure) {
      if let file = options.crl_file { try read(file, into: lists) }
      if let directory = options.crl_directory { try add(directory, to: lists) }
    } catch {
      X509_STORE_free(lists)
      throw error
    }
    return lists
  }

  /// Reads every list in a file and skips everything else in it.
  private static func read(
    _ file: UnsafePointer<CChar>, into lists: OpaquePointer
  ) throws(Failure) {
    let content = try WipedBytes(
      file: file, named: "crl", largest: largestFile, status: APNS_ERR_CREDENTIALS)
    guard
      let bio = BIO_new_mem_buf(
        content.bytes.baseAddress, CInt(truncatingIfNeeded: content.count))
    else { throw .outOfMemory }
    defer { BIO_free(bio) }
    TLSErrors.clear()
    var count = 0
    while let list = PEM_read_bio_X509_CRL(bio, nil, refusePassphrase, nil) {
      let fine = X509_STORE_add_crl(lists, list)
      X509_CRL_free(list)
      guard fine == 1 else { throw .outOfMemory }
      count &+= 1
    }
    let errors = TLSErrors.take()
    if errors.isNoMorePEM {
      if count > 0 { return }
      throw Failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_REVOCATION_LIST) {
        $0.append("crl file ")
        $0.append(file)
        $0.append(" holds no revocation list in PEM")
      }
    }
    throw errors.failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_REVOCATION_LIST) {
      $0.append("crl file ")
      $0.append(file)
      $0.append(" has a broken revocation list")
    }
  }

  private static func add(
    _ directory: UnsafePointer<CChar>, to lists: OpaquePointer
  ) throws(Failure) {
    // OpenSSL reads the directory only when it verifies, so we check that it exists.
    guard access(directory, R_OK | X_OK) == 0 else {
      let code = csystem_errno()
      throw Failure(APNS_ERR_CREDENTIALS, systemError: code) {
        $0.append("crl_directory ")
        $0.append(directory)
      }
    }
    guard copenssl_add_list_directory(lists, directory) == 1 else { throw .outOfMemory }
  }

  // MARK: Verifying

  /// Makes the connections of the context check the rules.
  static func apply(
    _ rules: borrowing PeerRules?, to context: OpaquePointer, acceptsAnyone: Bool
  ) {
    var argument: UnsafeMutableRawPointer?
    var hasPins = false
    switch rules {
    case .some(let rules):
      argument = UnsafeMutableRawPointer(rules.shared)
      hasPins = rules.shared.pointee.pinCount > 0
      if let lists = rules.shared.pointee.lists { copenssl_check_lists(context, lists) }
    case .none: break
    }
    if !acceptsAnyone {
      SSL_CTX_set_cert_verify_callback(context, verifyPeer, argument)
    } else if hasPins {
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
      SSL_CTX_set_cert_verify_callback(context, lookForPin, argument)
    }
  }

  /// Whether a certificate has a pinned key; without pins, always found.
  @inline(never)
  fileprivate static func check(
    _ rules: UnsafeMutableRawPointer, _ chain: OpaquePointer?, _ own: OpaquePointer?
  ) -> PinCheck {
    let shared = rules.assumingMemoryBound(to: Shared.self)
    let pinCount = shared.pointee.pinCount
    if pinCount == 0 { return .found }
    var seen = KeyDigest(repeating: 0)
    let count = chain == nil ? 1 : copenssl_certificate_count(chain)
    // The peer's own certificate comes last, so that a failure shows its key.
    for place in 0..<count {
      let index = count &- 1 &- place
      guard let certificate = index == 0 ? own : copenssl_certificate(chain, index),
        withUnsafeMutableBytes(
          of: &seen,
          {
            copenssl_key_digest(
              certificate, $0.baseAddress?.assumingMemoryBound(to: UInt8.self)) == 1
          })
      else { return .noMemory }
      for pin in 0..<pinCount
      where memcmp(UnsafeRawPointer(pins(shared) + pin), &seen, 32) == 0 {
        return .found
      }
    }
    return .missing(seen)
  }
}

private enum PinCheck {
  case found
  case missing(KeyDigest)
  case noMemory
}

/// OpenSSL's callback for a whole chain: runs its own verification, then checks the pins.
private func verifyPeer(_ store: OpaquePointer?, _ rules: UnsafeMutableRawPointer?) -> CInt {
  guard let store else { return 0 }
  copenssl_compare_names_strictly(store)
  let result = X509_verify_cert(store)
  guard result == 1, let rules else { return result }
  return apply(
    store,
    PeerRules.check(rules, X509_STORE_CTX_get0_chain(store), X509_STORE_CTX_get0_cert(store)))
}

/// The same if any peer is accepted: the peer has proven only that the certificate it shows is its
/// own.
private func lookForPin(_ store: OpaquePointer?, _ rules: UnsafeMutableRawPointer?) -> CInt {
  guard let store, let rules else { return 0 }
  return apply(store, PeerRules.check(rules, nil, X509_STORE_CTX_get0_cert(store)))
}

private func apply(_ store: OpaquePointer, _ decision: PinCheck) -> CInt {
  let key: KeyDigest?
  switch decision {
  case .found:
    X509_STORE_CTX_set_error(store, X509_V_OK)
    return 1
  case .missing(let seen):
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
    key = seen
  case .noMemory:
    X509_STORE_CTX_set_error(store, X509_V_ERR_OUT_OF_MEM)
    key = nil
  }
  if let state = copenssl_verified_state(store) {
    let socket = state.assumingMemoryBound(to: SocketState.self)
    socket.pointee.peerFault.code = X509_STORE_CTX_get_error(store)
    socket.pointee.peerFault.depth = 0
    socket.pointee.peerFault.unpinnedKey = key
    socket.pointee.peerFault.note(subjectOf: X509_STORE_CTX_get0_cert(store))
  }
  return 0
}

extension Message {
  /// Appends the digest in the notation of `pinned_keys`.
  @inline(never)
  mutating func append(pin digest: KeyDigest) {
    append("sha256//")
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 45) { target in
      var bytes = digest
      withUnsafeBytes(of: &bytes) {
        _ = EVP_EncodeBlock(
          target.baseAddress, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 32)
      }
      for index in 0..<44 { append(ascii: target[index]) }
    }
  }
}
