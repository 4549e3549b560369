import CAPNS
import COpenSSL
import CSystem

/// OpenSSL's callback when a peer requests a certificate and none is set, or none can be shown, as
/// without memory. Notes that and shows none.
private func noteMissingCertificate(
  _ ssl: OpaquePointer?, _ certificate: UnsafeMutablePointer<OpaquePointer?>?,
  _ key: UnsafeMutablePointer<OpaquePointer?>?
) -> CInt {
  if let ssl, let state = copenssl_state(ssl) {
    let state = state.assumingMemoryBound(to: SocketState.self)
    state.pointee.lacksCertificate = true
    state.pointee.noteMemory()
  }
  return 0
}

/// Certificate, key and trust anchors, checked and ready for any number of connections: an SSL_CTX,
/// which counts its users and locks itself.
struct TrustContext: ~Copyable {
  let context: OpaquePointer
  /// The rules that the context's callbacks read; nil without rules.
  private let rules: PeerRules?

  /// Adds a user of the same context.
  init(sharing other: borrowing TrustContext) {
    SSL_CTX_up_ref(other.context)
    SharedTrust.addUser()
    context = other.context
    switch other.rules {
    case .some(let others): rules = PeerRules(sharing: others)
    case .none: rules = nil
    }
  }

  deinit {
    SSL_CTX_free(context)
    SharedTrust.removeUser()
  }

  init(_ options: apns_credentials_options_t) throws(Failure) {
    TLSErrors.clear()
    let rules = try PeerRules(options)
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .outOfMemory }
    // If an allocation failed, SSL_CTX_new() may return a context without a key-exchange group.
    if TLSErrors.isOutOfMemory {
      SSL_CTX_free(context)
      throw .outOfMemory
    }
    SSL_CTX_set_client_cert_cb(context, noteMissingCertificate)
    SharedTrust.addUser()
    do throws(Failure) {
      try Self.limitVersions(context, options)
      try Self.limitStrength(context, options)
      var shared = SharedTrust(
        isAllowed: options.crl_file == nil && options.crl_directory == nil)
      try Self.trust(context, options, &shared)
      TLSErrors.clear()
      copenssl_prepare(context)
      if TLSErrors.isOutOfMemory { throw .outOfMemory }
      shared.keep(context)
      try Self.identify(context, options)
    } catch {
      SSL_CTX_free(context)
      SharedTrust.removeUser()
      throw error
    }
    copenssl_refuse_renegotiation(context)
    PeerRules.apply(rules, to: context, acceptsAnyone: options.dangerously_accept_any_peer != 0)
    TLSErrors.clear()
    self.context = context
    self.rules = rules
  }

  /// Called before any certificate or key is loaded, because the level applies to them too.
  private static func limitStrength(
    _ context: OpaquePointer, _ options: apns_credentials_options_t
  ) throws(Failure) {
    guard options.security_level != 0 else { return }
    guard (1...5).contains(options.security_level) else {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("security_level is ")
        $0.append(Int(options.security_level))
        $0.append(", not 1 to 5")
      }
    }
    SSL_CTX_set_security_level(context, options.security_level)
  }

  private static func limitVersions(
    _ context: OpaquePointer, _ options: apns_credentials_options_t
  ) throws(Failure) {
    let lowest = try version(options.tls_min, "tls_min") ?? TLS1_2_VERSION
    let highest = try version(options.tls_max, "tls_max")
    if let highest, highest < lowest {
      throw Failure(APNS_ERR_ARGUMENT, "tls_max is below tls_min")
    }
    guard copenssl_set_min_version(context, lowest) == 1,
      copenssl_set_max_version(context, highest ?? 0) == 1
    else { throw TLSErrors.take().failure(APNS_ERR_TLS) { $0.append("TLS version") } }
  }

  private static func version(
    _ given: Int32, _ option: StaticString
  ) throws(Failure) -> CInt? {
    switch UInt32(bitPattern: given) {
    case APNS_TLS_DEFAULT.rawValue: return nil
    case APNS_TLS_1_2.rawValue: return TLS1_2_VERSION
    case APNS_TLS_1_3.rawValue: return TLS1_3_VERSION
    default:
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append(option)
        $0.append(" is not a TLS version: ")
        $0.append(Int(given))
      }
    }
  }

  private static func trust(
    _ context: OpaquePointer, _ options: apns_credentials_options_t,
    _ shared: inout SharedTrust
  ) throws(Failure) {
    if options.dangerously_accept_any_peer != 0 {
      SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
      return
    }
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, notePeerFault)
    // If OpenSSL lacks a descriptor to open a file, it treats the file as empty.
    let code = lackOfDescriptors()
    if code != 0 {
      throw Failure(APNS_ERR_MEMORY, systemError: code) {
        if options.ca_file == nil { $0.append("the trusted certificates") }
        if let file = options.ca_file {
          $0.append("ca_file ")
          $0.append(file)
        }
      }
    }
    if options.ca_file == nil, options.ca_directory == nil {
      if SystemTrust.add(to: context, &shared) == .noMemory { throw .outOfMemory }
      return
    }
    // OpenSSL reads a directory only when it verifies, so it would not report a missing one here.
    if let directory = options.ca_directory, access(directory, R_OK | X_OK) != 0 {
      let code = csystem_errno()
      throw Failure(APNS_ERR_CREDENTIALS, systemError: code) {
        $0.append("ca_directory ")
        $0.append(directory)
      }
    }
    if let file = options.ca_file, access(file, R_OK) != 0 {
      let code = csystem_errno()
      throw Failure(APNS_ERR_CREDENTIALS, systemError: code) {
        $0.append("ca_file ")
        $0.append(file)
      }
    }
    if shared.have(options.ca_file, options.ca_directory, in: context) { return }
    switch SystemTrust.read(options.ca_file, options.ca_directory, into: context) {
    case .found: break
    case .noMemory: throw .outOfMemory
    case .nothing:
      throw TLSErrors.take().failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_CA_MISSING) {
        $0.append("no CA certificate in ")
        $0.append(options.ca_file ?? options.ca_directory)
      }
    }
  }

  private static func identify(
    _ context: OpaquePointer, _ options: apns_credentials_options_t
  ) throws(Failure) {
    if options.passphrase != nil, options.passphrase_callback != nil {
      throw Failure(APNS_ERR_ARGUMENT, "both a passphrase and a callback for it are given")
    }
    guard
      let source = try CredentialSource(
        file: options.certificate_file, bytes: options.certificate_bytes,
        length: options.certificate_length, name: "certificate")
    else {
      if options.key_file != nil || options.key_bytes != nil || options.private_key != nil {
        throw Failure(APNS_ERR_ARGUMENT, "a key is given without a certificate")
      }
      return
    }
    var identity = try Identity()
    var passphrase = Passphrase(options, for: source.file)
    try identity.read(source, &passphrase)
    if let keySource = try CredentialSource(
      file: options.key_file, bytes: options.key_bytes, length: options.key_length, name: "key")
    {
      var keyPassphrase = Passphrase(options, for: keySource.file)
      if options.private_key != nil {
        throw Failure(APNS_ERR_ARGUMENT, "both a key and a private_key are given")
      }
      identity.dropKeys()
      try PrivateKey.read(keySource, &keyPassphrase, into: &identity)
      try identity.matchKey(from: keySource)
    } else if let key = options.private_key {
      guard EVP_PKEY_up_ref(key) == 1 else { throw .outOfMemory }
      identity.dropKeys()
      try identity.adopt(key)
      try identity.matchKey(from: source, isHosts: true)
    } else {
      if identity.key == nil { try PrivateKey.read(source, &passphrase, into: &identity) }
      try identity.matchKey(from: source)
    }
    if options.accept_expired == 0 { try identity.checkDates(source) }
    try identity.use(in: context, source)
  }
}
