import CAPNS
import COpenSSL
import CSystem

/// Makes provider tokens: JSON Web Tokens (RFC 7519), signed by ES256 (RFC 7518, 3.4).
struct TokenSigner: ~Copyable {
  /// The length of `key_id` and `team_id`.
  private static let identifierLength = 10
  /// More than a token with the largest possible time takes: 205 bytes.
  static let capacity = 256

  /// An EVP_PKEY; nil if the application signs.
  private let key: OpaquePointer?
  private let hostSign: apns_sign_t?
  private let hostContext: UnsafeMutableRawPointer?
  /// Key and team, each followed by a NUL.
  private let identifiers: UnsafeMutablePointer<CChar>
  /// SHA-256 of the public key; zeros if only the application knows it.
  private(set) var fingerprint = InlineArray<32, UInt8>(repeating: 0)

  var keyID: UnsafePointer<CChar> { UnsafePointer(identifiers) }
  var teamID: UnsafePointer<CChar> { UnsafePointer(identifiers + (Self.identifierLength &+ 1)) }

  /// Nil if the options have no key for tokens.
  @inline(never)
  init?(_ options: apns_credentials_options_t) throws(Failure) {
    let source = try CredentialSource(
      file: options.token_key_file, bytes: options.token_key_bytes,
      length: options.token_key_length, name: "token_key")
    guard try Self.hasKey(options) else { return nil }
    try Self.check(options.key_id, "key_id")
    try Self.check(options.team_id, "team_id")
    var key: OpaquePointer?
    switch source {
    case .some(let source): key = try Self.read(source, options)
    case .none: key = try Self.adopt(options.token_private_key)
    }
    if let key {
      let fine = withUnsafeMutableBytes(of: &fingerprint) {
        copenssl_public_digest(key, $0.baseAddress)
      }
      guard fine == 1 else {
        EVP_PKEY_free(key)
        TLSErrors.clear()
        throw .outOfMemory
      }
    }
    guard let memory = calloc(2, Self.identifierLength &+ 1) else {
      EVP_PKEY_free(key)
      throw .outOfMemory
    }
    memcpy(memory, options.key_id, Self.identifierLength)
    memcpy(memory + (Self.identifierLength &+ 1), options.team_id, Self.identifierLength)
    identifiers = memory.bindMemory(to: CChar.self, capacity: 2 &* (Self.identifierLength &+ 1))
    self.key = key
    hostSign = key == nil ? options.sign_callback : nil
    hostContext = options.sign_context
  }

  /// Whether the options have a signer. They may have only one.
  private static func hasKey(_ options: apns_credentials_options_t) throws(Failure) -> Bool {
    var count = 0
    if options.token_key_file != nil || options.token_key_bytes != nil { count &+= 1 }
    if options.token_private_key != nil { count &+= 1 }
    if options.sign_callback != nil { count &+= 1 }
    let isLent = options.token_callback != nil
    if count > 1 || isLent && count > 0 {
      throw Failure(
        APNS_ERR_ARGUMENT,
        "more than one is given of token_key, token_private_key, sign_callback and token_callback")
    }
    if count == 1 { return true }
    if options.key_id != nil || options.team_id != nil {
      throw Failure(
        APNS_ERR_ARGUMENT,
        isLent
          ? "key_id or team_id is given with a token_callback, whose tokens name their own"
          : "key_id or team_id is given without a token_key")
    }
    return false
  }

  private static func read(
    _ source: borrowing CredentialSource, _ options: apns_credentials_options_t
  ) throws(Failure) -> OpaquePointer {
    var passphrase = Passphrase(options, for: source.file)
    let key = try PrivateKey.first(of: source, &passphrase)
    guard copenssl_is_p256(key) == 1 else {
      EVP_PKEY_free(key)
      TLSErrors.clear()
      throw source.fault(
        "holds a key that is not EC P-256, as Apple's are", cause: APNS_CAUSE_KEY_UNFIT)
    }
    return key
  }

  /// Adds a user of the application's key, if there is one.
  private static func adopt(_ key: OpaquePointer?) throws(Failure) -> OpaquePointer? {
    guard let key else { return nil }
    TLSErrors.clear()
    guard copenssl_is_p256(key) == 1 else {
      throw TLSErrors.take().failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_KEY_UNFIT) {
        $0.append("token_private_key is not EC P-256, as Apple's keys are")
      }
    }
    guard EVP_PKEY_up_ref(key) == 1 else { throw .outOfMemory }
    return key
  }

  deinit { Self.drop(key, identifiers) }

  @inline(never)
  private static func drop(_ key: OpaquePointer?, _ identifiers: UnsafeMutableRawPointer) {
    EVP_PKEY_free(key)
    free(identifiers)
  }

  /// Checks an identifier that goes into JSON, in quotation marks.
  @inline(never)
  private static func check(
    _ given: UnsafePointer<CChar>?, _ option: StaticString
  ) throws(Failure) {
    var count = 0
    var isPlain = true
    if let given {
      while given[count] != 0 {
        switch UInt8(bitPattern: given[count]) {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: break
        default: isPlain = false
        }
        count &+= 1
      }
    }
    guard given != nil, count == identifierLength, isPlain else {
      throw Failure(APNS_ERR_ARGUMENT, cause: APNS_CAUSE_TOKEN_IDENTIFIER) {
        $0.append(option)
        if given == nil {
          $0.append(" is missing; the token_key needs it")
        } else if count != identifierLength {
          $0.append(" has ")
          $0.append(count)
          $0.append(" characters, not 10")
        } else {
          $0.append(" has characters other than letters and digits")
        }
      }
    }
  }

  /// Writes "bearer " and a token made at that time. Returns the length, and a number that nobody
  /// can predict. `target` has room for `capacity` bytes.
  @inline(never)
  func write(
    at unix: Int64, to target: UnsafeMutablePointer<UInt8>
  ) throws(Failure) -> (count: Int, chance: UInt32) {
    let start = Self.prefixLength
    memcpy(target, Self.prefix.utf8Start, start)
    var end = start
    var json = Message()
    json.append("{\"alg\":\"ES256\",\"kid\":\"")
    json.append(keyID)
    json.append("\"}")
    end &+= Self.encode(json, to: target + end)
    target[end] = UInt8(ascii: ".")
    end &+= 1
    json = Message()
    json.append("{\"iss\":\"")
    json.append(teamID)
    json.append("\",\"iat\":")
    json.append(Int(unix))
    json.append("}")
    end &+= Self.encode(json, to: target + end)
    var signature = InlineArray<64, UInt8>(repeating: 0)
    try sign(target + start, end &- start, &signature)
    target[end] = UInt8(ascii: ".")
    end &+= 1
    end &+= withUnsafeBytes(of: &signature) { Self.encode($0, to: target + end) }
    var chance: UInt32 = 0
    for index in 0..<4 { chance = chance << 8 | UInt32(signature[index]) }
    return (end, chance)
  }

  /// The text before the token in the header field.
  static var prefix: StaticString { "bearer " }
  static let prefixLength = 7

  /// Makes the two numbers of the signature, 32 bytes each.
  private func sign(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ signature: inout InlineArray<64, UInt8>
  ) throws(Failure) {
    guard let key else { return try askHost(bytes, count, &signature) }
    TLSErrors.clear()
    guard let context = EVP_MD_CTX_new() else { throw .outOfMemory }
    defer { EVP_MD_CTX_free(context) }
    let fine = withUnsafeMutableBytes(of: &signature) {
      copenssl_sign_es256(context, key, bytes, count, $0.baseAddress)
    }
    guard fine == 1 else {
      throw TLSErrors.take().failure(APNS_ERR_CREDENTIALS, cause: APNS_CAUSE_KEY_UNFIT) {
        $0.append("the provider token cannot be signed")
      }
    }
  }

  /// Lets the application sign. It gives the two numbers, or the DER of them.
  private func askHost(
    _ bytes: UnsafePointer<UInt8>, _ count: Int, _ signature: inout InlineArray<64, UInt8>
  ) throws(Failure) {
    // More than the DER of two numbers takes.
    var given = InlineArray<128, UInt8>(repeating: 0)
    let fine = withUnsafeMutableBytes(of: &given) { given in
      withUnsafeMutableBytes(of: &signature) { signature in
        guard let hostSign, let start = given.baseAddress?.assumingMemoryBound(to: UInt8.self),
          let target = signature.baseAddress
        else { return false }
        let length = Int(hostSign(bytes, count, start, given.count, hostContext))
        guard length > 0, length <= given.count else { return false }
        if length == signature.count {
          target.copyMemory(from: start, byteCount: length)
          return true
        }
        defer { TLSErrors.clear() }
        return copenssl_read_es256(start, length, target) == 1
      }
    }
    guard fine else {
      throw Failure(
        APNS_ERR_CREDENTIALS,
        "the sign_callback gave no signature by ES256 for the provider token",
        cause: APNS_CAUSE_PROVIDER_TOKEN)
    }
  }

  private static func encode(_ json: Message, to target: UnsafeMutablePointer<UInt8>)
    -> Int
  {
    withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) {
      json.copy(to: $0)
      return encode(UnsafeRawBufferPointer(rebasing: $0[0..<min(json.count, 127)]), to: target)
    }
  }

  /// base64url without padding (RFC 4648, 5). OpenSSL writes up to three bytes more.
  private static func encode(
    _ bytes: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>
  ) -> Int {
    let written = Int(
      EVP_EncodeBlock(
        target, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
        CInt(truncatingIfNeeded: bytes.count)))
    for index in 0..<max(0, written) {
      switch target[index] {
      case UInt8(ascii: "+"): target[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): target[index] = UInt8(ascii: "_")
      case UInt8(ascii: "="): return index
      default: break
      }
    }
    return max(0, written)
  }
}

/// The signer of the options only, for the relay, whose queue keeps its tokens.
package final class TokenKey {
  package static let capacity = TokenSigner.capacity
  private let signer: TokenSigner

  /// Nil on failure, with the reason in `error`.
  package init?(
    _ options: apns_credentials_options_t, _ error: UnsafeMutablePointer<apns_error_t>
  ) {
    do throws(Failure) {
      guard let signer = try TokenSigner(options) else { return nil }
      self.signer = signer
    } catch let failure {
      failure.report(to: error)
      return nil
    }
  }

  /// SHA-256 of the public key.
  package var fingerprint: InlineArray<32, UInt8> { signer.fingerprint }

  /// Writes a token made at that time, and returns its length; 0 on failure, with the reason in
  /// `error`. `target` has room for `capacity` bytes.
  package func write(
    at unix: Int64, to target: UnsafeMutablePointer<UInt8>,
    _ error: UnsafeMutablePointer<apns_error_t>
  ) -> Int {
    do throws(Failure) {
      let count = try signer.write(at: unix, to: target).count &- TokenSigner.prefixLength
      memmove(target, target + TokenSigner.prefixLength, count)
      return count
    } catch let failure {
      failure.report(to: error)
      return 0
    }
  }
}
