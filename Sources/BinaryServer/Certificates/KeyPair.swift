import COpenSSL

/// A private key with its public key, or only a public key.
package final class KeyPair: @unchecked Sendable {
  package enum Kind {
    case rsa2048
    /// The curve for provider tokens.
    case p256
  }

  /// Immutable once it is created.
  package let handle: OpaquePointer

  private init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { EVP_PKEY_free(handle) }

  /// Generates a key; nil if OpenSSL fails, which leaves the reason in its error queue.
  package init?(_ kind: Kind) {
    let context = EVP_PKEY_CTX_new_id(kind == .rsa2048 ? EVP_PKEY_RSA : EVP_PKEY_EC, nil)
    defer { EVP_PKEY_CTX_free(context) }
    let options: KeyValuePairs<String, String> =
      switch kind {
      case .rsa2048: ["rsa_keygen_bits": "2048"]
      case .p256: ["ec_paramgen_curve": "P-256", "ec_param_enc": "named_curve"]
      }
    guard EVP_PKEY_keygen_init(context) == 1,
      options.allSatisfy({ EVP_PKEY_CTX_ctrl_str(context, $0.key, $0.value) == 1 })
    else { return nil }
    var made: OpaquePointer?
    guard EVP_PKEY_keygen(context, &made) == 1, let made else { return nil }
    handle = made
  }

  /// The first private key in a PEM text; nil if it is encrypted.
  package static func privateKey(in pem: String) -> KeyPair? {
    MemoryBIO.reading(pem) {
      // Prevents a passphrase prompt on the terminal.
      PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in -1 }, nil)
    }.map(KeyPair.init)
  }

  package static func publicKey(in pem: String) -> KeyPair? {
    MemoryBIO.reading(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) }.map(KeyPair.init)
  }

  package var isP256: Bool {
    defer { ERR_clear_error() }
    return copenssl_is_p256(handle) == 1
  }

  /// The private key as unencrypted PKCS#8.
  package var pem: String {
    MemoryBIO.written { PEM_write_bio_PKCS8PrivateKey($0, handle, nil, nil, 0, nil, nil) == 1 }
      ?? ""
  }

  /// Whether the certificate is for this key.
  package func belongs(to certificate: Certificate) -> Bool {
    defer { ERR_clear_error() }
    return X509_check_private_key(certificate.handle, handle) == 1
  }

  /// Whether this key made the ES256 signature, which is two numbers of 32 bytes (RFC 7518, 3.4).
  package func isES256(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    guard isP256, signature.count == 64, let der = Self.der(of: signature) else { return false }
    let context = EVP_MD_CTX_new()
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, handle) == 1
      && EVP_DigestVerify(context, der, der.count, bytes, bytes.count) == 1
  }

  /// OpenSSL accepts the two numbers only in DER.
  private static func der(of signature: [UInt8]) -> [UInt8]? {
    guard let numbers = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(numbers) }
    let r = BN_bin2bn(signature, 32, nil)
    let s = Array(signature[32...]).withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, 32, nil) }
    guard let r, let s, ECDSA_SIG_set0(numbers, r, s) == 1 else {
      BN_free(r)
      BN_free(s)
      return nil
    }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = i2d_ECDSA_SIG(numbers, &bytes)
    guard count > 0, let bytes else { return nil }
    defer { copenssl_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}
