import CAPNS
import COpenSSL
import CSystem

/// Where a certificate or a key comes from: a file or memory, in any format.
struct CredentialSource: ~Copyable {
  /// Keychain exports are a few KB; a file far larger than that is something else.
  private static let largest = 1 << 20

  private let content: WipedBytes
  /// The file's name, NULL for memory.
  let file: UnsafePointer<CChar>?
  /// Its name in the caller's options.
  private let name: StaticString

  var bytes: UnsafeRawBufferPointer { content.bytes }

  /// Nil if the caller gave neither.
  @inline(never)
  init?(
    file: UnsafePointer<CChar>?, bytes given: UnsafeRawPointer?, length: Int, name: StaticString
  ) throws(Failure) {
    if file != nil, given != nil {
      throw Failure(APNS_ERR_ARGUMENT) {
        $0.append("both a file and bytes are given for the ")
        $0.append(name)
      }
    }
    let content: WipedBytes
    if let file {
      content = try WipedBytes(
        file: file, named: name, largest: Self.largest, status: APNS_ERR_CREDENTIALS, hasText: true)
    } else if let given {
      guard length > 0, length <= Self.largest else {
        throw Failure(APNS_ERR_ARGUMENT) {
          $0.append(name)
          $0.append("_length is ")
          $0.append(size: length)
          $0.append(", not 1 to 1048576")
        }
      }
      content = try WipedBytes(copying: UnsafeRawBufferPointer(start: given, count: length))
    } else {
      return nil
    }
    if let mended = try MendedText.make(of: content.bytes) {
      self.content = mended
    } else {
      self.content = content
    }
    self.file = file
    self.name = name
  }

  /// PEM is text with marked blocks; content without a block is DER.
  var isPEM: Bool { contains("-----BEGIN ") }

  func contains(_ text: StaticString) -> Bool { UnsafeRawBufferPointer(bytes).contains(text) }

  /// A BIO that reads the bytes from the start; the caller frees it.
  @inline(never)
  func reader() throws(Failure) -> OpaquePointer {
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, CInt(truncatingIfNeeded: bytes.count)) else {
      throw .outOfMemory
    }
    return bio
  }

  /// "certificate file provider.pem".
  @inline(never)
  func append(to message: inout Message) {
    message.append(name)
    if let file {
      message.append(" file ")
      message.append(file)
    } else {
      message.append(" in memory")
    }
  }

  /// Called if OpenSSL could not read the bytes: throws if memory ran out, else they are something
  /// else.
  @inline(never)
  func settle() throws(Failure) {
    if TLSErrors.takeExhausted() { throw .outOfMemory }
  }

  /// Appends the kind of contents found instead of a certificate or a key, if it can be recognized.
  @inline(never)
  private func appendContents(to message: inout Message, wantsKey: Bool) {
    if bytes.count == 0 {
      message.append(": it is empty")
    } else if !wantsKey, contains("PRIVATE KEY-----") || isKeyInDER {
      message.append(", but a private key: a .p8 from Apple is a token_key")
    } else if contains("CERTIFICATE REQUEST-----") {
      message.append(", but a certificate request")
    } else if contains("-----BEGIN CERTIFICATE-----") {
      message.append(", but a certificate")
    } else if contains("-----BEGIN PUBLIC KEY-----") {
      message.append(", but a public key")
    } else if contains("<html") || contains("<HTML") {
      message.append(", but a web page")
    }
  }

  /// A sequence that begins with the version of a key (RFC 5208, 5; RFC 5915, 3; RFC 8017, A.1.2).
  private var isKeyInDER: Bool {
    guard bytes.count > 8, bytes[0] == 0x30 else { return false }
    let start = bytes[1] < 0x80 ? 2 : 2 &+ Int(bytes[1] & 3)
    return bytes[start] == 2 && bytes[start &+ 1] == 1 && bytes[start &+ 2] <= 1
  }

  /// "certificate file provider.pem holds no PEM certificate: …"
  @inline(never)
  func fault(
    _ text: StaticString, _ errors: TLSErrors = .none, certificate: OpaquePointer? = nil,
    cause: apns_cause_t = APNS_CAUSE_NONE
  ) -> Failure {
    errors.failure(APNS_ERR_CREDENTIALS, cause: cause) {
      append(to: &$0)
      $0.append(" ")
      $0.append(text)
      if cause == APNS_CAUSE_KEY_MISSING || cause == APNS_CAUSE_CERTIFICATE_MISSING {
        appendContents(to: &$0, wantsKey: cause == APNS_CAUSE_KEY_MISSING)
      }
      if let certificate {
        $0.append(" (")
        $0.append(subjectOf: certificate)
        $0.append(")")
      }
    }
  }
}

extension Message {
  /// Appends the certificate's subject, as far as it fits.
  mutating func append(subjectOf certificate: OpaquePointer) {
    guard let bio = BIO_new(BIO_s_mem()) else { return }
    defer { BIO_free(bio) }
    _ = copenssl_print_subject(bio, certificate)
    var start: UnsafeMutablePointer<CChar>?
    let count = copenssl_written(bio, &start)
    guard let start, count > 0 else { return }
    append(text: UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Appends the subject's common name, or nothing.
  mutating func append(nameOf certificate: OpaquePointer) {
    var bytes: UnsafeMutablePointer<UInt8>?
    let entry = copenssl_subject_entry(certificate, NID_commonName)
    guard let entry else { return }
    let count = Int(ASN1_STRING_to_UTF8(&bytes, entry))
    guard let bytes else { return }
    append(text: UnsafeRawBufferPointer(start: bytes, count: max(0, count)))
    copenssl_free(bytes)
  }
}
