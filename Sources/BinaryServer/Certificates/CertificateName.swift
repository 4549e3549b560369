import COpenSSL

/// A certificate's subject or issuer.
package struct CertificateName: Equatable, CustomStringConvertible {
  private let name: OpaquePointer?
  /// Owns the name's memory.
  private let certificate: Certificate

  init(_ name: OpaquePointer?, of certificate: Certificate) {
    self.name = name
    self.certificate = certificate
  }

  /// Compares as OpenSSL does to find an issuer.
  package static func == (one: CertificateName, other: CertificateName) -> Bool {
    X509_NAME_cmp(one.name, other.name) == 0
  }

  package var description: String {
    MemoryBIO.written { copenssl_print_name($0, name) >= 0 } ?? ""
  }

  package var organization: String? { text(NID_organizationName) }

  /// The UID attribute, where Apple puts the topic.
  package var userIdentifier: String? { text(NID_userId) }

  /// The first attribute of a type.
  private func text(_ kind: CInt) -> String? {
    let index = X509_NAME_get_index_by_NID(name, kind, -1)
    guard index >= 0,
      let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))
    else { return nil }
    return CertificateText.string(value)
  }
}

/// Converts the strings of a certificate.
enum CertificateText {
  /// nil if it is not text.
  static func string(_ value: UnsafePointer<ASN1_STRING>) -> String? {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&bytes, value)
    ERR_clear_error()
    guard count >= 0, let bytes else { return nil }
    defer { copenssl_free(bytes) }
    return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
  }

  static func bytes(of value: UnsafePointer<ASN1_STRING>) -> [UInt8] {
    Array(
      UnsafeBufferPointer(
        start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value))))
  }
}

/// Lets OpenSSL read from memory and write to it.
package enum MemoryBIO {
  package static func reading<Value>(_ text: String, _ read: (OpaquePointer) -> Value?) -> Value? {
    var text = text
    return text.withUTF8 {
      guard let count = CInt(exactly: $0.count), let bio = BIO_new_mem_buf($0.baseAddress, count)
      else { return nil }
      defer {
        BIO_free(bio)
        ERR_clear_error()
      }
      return read(bio)
    }
  }

  /// nil if `write` fails.
  package static func written(_ write: (OpaquePointer) -> Bool) -> String? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer {
      BIO_free(bio)
      ERR_clear_error()
    }
    guard write(bio) else { return nil }
    var start: UnsafeMutablePointer<CChar>?
    let count = copenssl_written(bio, &start)
    return String(
      decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }
}
