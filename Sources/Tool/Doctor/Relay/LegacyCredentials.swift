import BinaryServer
import COpenSSL

/// A legacy program's certificate and key, which may be expired or weak.
final class LegacyCredentials {
  let certificate: Certificate
  fileprivate let key: OpaquePointer

  deinit { EVP_PKEY_free(key) }

  /// The key is in a separate file, or in the certificate's.
  init(certificate path: String, key keyPath: String?, passphrase: String?) throws(Finding) {
    guard let file = CredentialFile(path) else {
      throw .problem("file-missing", path, "cannot be read", "check the path")
    }
    if file.form == .pkcs12 {
      throw .problem(
        "certificate-not-pem", path, "is PKCS#12, but this check needs PEM",
        "openssl pkcs12 -legacy -in \(path) -nodes -out provider.pem, chmod 600 that, and give it")
    }
    guard let certificate = file.certificates.first else {
      throw .problem(
        "certificate-missing", path, "contains no certificate",
        "give the program's certificate, in PEM")
    }
    let keyPath = keyPath ?? path
    guard let bytes = try? WholeText.read(keyPath),
      let key = Self.key(String(decoding: bytes, as: UTF8.self), passphrase)
    else {
      throw .problem(
        "key-missing", keyPath, "contains no private key that could be opened",
        "give the key's file with --key, and its passphrase with --passphrase-file")
    }
    guard X509_check_private_key(certificate.handle, key) == 1 else {
      EVP_PKEY_free(key)
      ERR_clear_error()
      throw .problem(
        "key-mismatch", keyPath, "the key does not match the certificate",
        "give the certificate's key")
    }
    (self.certificate, self.key) = (certificate, key)
  }

  private static func key(_ text: String, _ passphrase: String?) -> OpaquePointer? {
    MemoryBIO.reading(text) { bio in
      guard var bytes = passphrase.map({ Array($0.utf8) + [0] }) else {
        // Prevents a passphrase prompt on the terminal.
        return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
      }
      return PEM_read_bio_PrivateKey(bio, nil, nil, &bytes)
    }
  }

  /// False if OpenSSL rejects them.
  func use(in context: OpaquePointer) -> Bool {
    SSL_CTX_use_certificate(context, certificate.handle) == 1
      && SSL_CTX_use_PrivateKey(context, key) == 1
  }
}
