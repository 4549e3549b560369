import CAPNS
import COpenSSL
import CSystem

/// Certificates and keys as PEM, from a file or from memory; wiped when done with.
struct PEMSource: ~Copyable {
  /// Keychain exports are a few KB; far more than that is some other file.
  private static let largest = 1 << 20

  private let bytes: UnsafeMutableRawPointer
  private let count: Int
  /// The file's name, NULL for memory.
  private let file: UnsafePointer<CChar>?
  /// What the caller's options call it.
  private let name: StaticString

  /// Nil when the caller gave neither.
  init?(
    file: UnsafePointer<CChar>?, bytes given: UnsafeRawPointer?, length: Int, name: StaticString
  ) throws(Failure) {
    if file != nil, given != nil {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("both a file and bytes are given for the ")
        $0.append(name)
      }
    }
    let source: (bytes: UnsafeMutableRawPointer, count: Int)
    if let file {
      source = try Self.read(file, name)
    } else if let given {
      guard length > 0, length <= Self.largest else {
        throw Failure(APNS_ERR_ARGUMENT) {
          $0.append(name)
          $0.append("_length is ")
          $0.append(length)
          $0.append(", not 1 to 1048576")
        }
      }
      guard let copy = malloc(length) else { throw .outOfMemory }
      copy.copyMemory(from: given, byteCount: length)
      source = (copy, length)
    } else {
      return nil
    }
    self.file = file
    self.name = name
    (bytes, count) = source
  }

  deinit {
    OPENSSL_cleanse(bytes, count)
    free(bytes)
  }

  /// Not through stdio, whose buffer would keep the key.
  private static func read(
    _ file: UnsafePointer<CChar>, _ name: StaticString
  ) throws(Failure) -> (UnsafeMutableRawPointer, Int) {
    let descriptor = csystem_open_for_reading(file)
    guard descriptor >= 0 else { throw unreadable(file, name, csystem_errno()) }
    defer { _ = close(descriptor) }
    guard var bytes = malloc(4096) else { throw .outOfMemory }
    var (capacity, count) = (4096, 0)
    while true {
      if count == capacity {
        // Not realloc, which would leave the old bytes behind.
        guard capacity < largest, let larger = malloc(capacity &* 2) else {
          OPENSSL_cleanse(bytes, count)
          free(bytes)
          if capacity < largest { throw .outOfMemory }
          throw Failure(APNS_ERR_CREDENTIALS) {
            $0.append(name)
            $0.append(" file ")
            $0.append(file)
            $0.append(" is larger than 1 MiB")
          }
        }
        larger.copyMemory(from: bytes, byteCount: count)
        OPENSSL_cleanse(bytes, count)
        free(bytes)
        bytes = larger
        capacity &*= 2
      }
      let received = CSystem.read(descriptor, bytes + count, capacity &- count)
      if received < 0 {
        let code = csystem_errno()
        if code == EINTR { continue }
        OPENSSL_cleanse(bytes, count)
        free(bytes)
        throw unreadable(file, name, code)
      }
      if received == 0 { return (bytes, count) }
      count &+= received
    }
  }

  private static func unreadable(
    _ file: UnsafePointer<CChar>, _ name: StaticString, _ code: CInt
  ) -> Failure {
    Failure(APNS_ERR_CREDENTIALS, systemError: code) {
      $0.append(name)
      $0.append(" file ")
      $0.append(file)
    }
  }

  /// The first certificate is the provider's, the others its chain.
  func useCertificates(in context: OpaquePointer) throws(Failure) {
    guard let bio = BIO_new_mem_buf(bytes, CInt(truncatingIfNeeded: count)) else {
      throw .outOfMemory
    }
    defer { BIO_free(bio) }
    TLSErrors.clear()
    var found = 0
    while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
      let fine =
        found == 0
        ? SSL_CTX_use_certificate(context, certificate)
        : copenssl_add_chain_certificate(context, certificate)
      X509_free(certificate)
      if fine != 1 { throw fault("cannot be used", TLSErrors.take()) }
      found &+= 1
    }
    let errors = TLSErrors.take()
    if found == 0 {
      if errors.isNoMorePEM { throw fault("holds no PEM certificate", TLSErrors(code: 0)) }
      throw fault("cannot be read", errors)
    }
    // Behind the last certificate OpenSSL finds no more; any other error is a broken one.
    if !errors.isNoMorePEM { throw fault("has a broken certificate in its chain", errors) }
  }

  /// The first private key, which has to be the certificate's.
  func useKey(in context: OpaquePointer, passphrase: UnsafePointer<CChar>?) throws(Failure) {
    guard let bio = BIO_new_mem_buf(bytes, CInt(truncatingIfNeeded: count)) else {
      throw .outOfMemory
    }
    defer { BIO_free(bio) }
    TLSErrors.clear()
    // A callback even without a passphrase: OpenSSL would ask on the terminal.
    var request = PassphraseRequest(passphrase: passphrase)
    guard let key = PEM_read_bio_PrivateKey(bio, nil, givePassphrase, &request) else {
      let errors = TLSErrors.take()
      // OpenSSL 3 says "unsupported" of a text without a key.
      if errors.isNoMorePEM || !holdsKey {
        throw fault("holds no PEM private key", TLSErrors(code: 0))
      }
      if !request.wasMade { throw fault("holds a key that cannot be read", errors) }
      if passphrase == nil { throw fault("holds a key that needs a passphrase", errors) }
      throw fault("holds a key that the passphrase does not open", errors)
    }
    defer { EVP_PKEY_free(key) }
    guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1
    else { throw fault("holds a key that is not the certificate's", TLSErrors.take()) }
  }

  /// The marker of every kind of PEM private key stands in the text.
  private var holdsKey: Bool {
    let marker: StaticString = "PRIVATE KEY-----"
    return csystem_contains(bytes, count, marker.utf8Start, marker.utf8CodeUnitCount) != 0
  }

  private func fault(_ text: StaticString, _ errors: TLSErrors) -> Failure {
    errors.failure(APNS_ERR_CREDENTIALS) {
      if let file {
        $0.append(name)
        $0.append(" file ")
        $0.append(file)
      } else {
        $0.append(name)
        $0.append(" in memory")
      }
      $0.append(" ")
      $0.append(text)
    }
  }
}

/// What OpenSSL's request for a passphrase is answered with, and whether it was made.
private struct PassphraseRequest {
  let passphrase: UnsafePointer<CChar>?
  var wasMade = false
}

/// Hands OpenSSL the passphrase; too long a one for its buffer is none.
private func givePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: CInt, _ writing: CInt,
  _ request: UnsafeMutableRawPointer?
) -> CInt {
  guard let request = request?.assumingMemoryBound(to: PassphraseRequest.self) else { return -1 }
  request.pointee.wasMade = true
  guard let buffer, let passphrase = request.pointee.passphrase else { return -1 }
  let length = strlen(passphrase)
  guard length <= Int(size) else { return -1 }
  memcpy(buffer, passphrase, length)
  return CInt(truncatingIfNeeded: length)
}
