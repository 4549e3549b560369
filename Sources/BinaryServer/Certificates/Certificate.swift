import COpenSSL

/// An X.509 certificate, read by OpenSSL.
package final class Certificate: @unchecked Sendable {
  /// Immutable once it is read.
  package let handle: OpaquePointer

  /// Takes ownership.
  package init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { X509_free(handle) }

  /// nil if the bytes are not exactly one certificate.
  package init?(der: [UInt8]) {
    let handle: OpaquePointer? = der.withUnsafeBufferPointer {
      var next = $0.baseAddress
      let read = d2i_X509(nil, &next, $0.count)
      ERR_clear_error()
      guard let read else { return nil }
      if next != $0.baseAddress.map({ $0 + der.count }) {
        X509_free(read)
        return nil
      }
      return read
    }
    guard let handle else { return nil }
    self.handle = handle
  }

  /// The first certificate in a PEM text.
  package init?(pem: String) {
    let read = MemoryBIO.reading(pem) { PEM_read_bio_X509($0, nil, nil, nil) }
    guard let read else { return nil }
    handle = read
  }

  package var pem: String {
    MemoryBIO.written { PEM_write_bio_X509($0, handle) == 1 } ?? ""
  }

  /// The SHA-256 digest of its DER encoding.
  package var fingerprint: [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 0
    X509_digest(handle, EVP_sha256(), &digest, &count)
    return digest
  }

  package var subject: CertificateName {
    CertificateName(X509_get_subject_name(handle), of: self)
  }
  package var issuer: CertificateName {
    CertificateName(X509_get_issuer_name(handle), of: self)
  }
  package var isSelfSigned: Bool { subject == issuer }

  /// Both in UNIX seconds.
  package var validFrom: Int64 { Self.seconds(X509_get0_notBefore(handle)) }
  package var validUntil: Int64 { Self.seconds(X509_get0_notAfter(handle)) }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    let epoch = ASN1_TIME_set(nil, 0)
    defer { ASN1_STRING_free(epoch) }
    var (days, seconds): (CInt, CInt) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
    return Int64(days) * 86_400 + Int64(seconds)
  }

  /// Whether the CA's key signed it.
  package func isSigned(by authority: Certificate) -> Bool {
    defer { ERR_clear_error() }
    return X509_verify(handle, X509_get0_pubkey(authority.handle)) == 1
  }

  /// The host names and addresses that it is valid for.
  package var names: [String] {
    let names = copenssl_alternative_names(handle)
    defer { GENERAL_NAMES_free(names) }
    return (0..<copenssl_name_count(names)).compactMap { index in
      if let name = copenssl_host_name(names, index) {
        return String(decoding: CertificateText.bytes(of: name), as: UTF8.self)
      }
      return copenssl_address(names, index).flatMap {
        Self.text(ofAddress: CertificateText.bytes(of: $0))
      }
    }
  }

  private static func text(ofAddress bytes: [UInt8]) -> String? {
    if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
    guard bytes.count == 16 else { return nil }
    return stride(from: 0, to: 16, by: 2).map {
      String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16)
    }.joined(separator: ":")
  }

  /// Whether it has the URL of its issuer's certificate. Only CAs with intermediate certificates
  /// add it.
  package var namesIssuersPlace: Bool { copenssl_names_issuers_place(handle) == 1 }

  /// nil if it does not restrict its purpose.
  package var isForClients: Bool? {
    let answer = copenssl_is_for_clients(handle)
    return answer < 0 ? nil : answer == 1
  }

  /// Whether it has one of Apple's push extensions.
  package var isForPushing: Bool { copenssl_push_uses(handle) != 0 }

  /// The strings in an extension that is a sequence; other elements are omitted.
  package func texts(inExtension name: String) -> [String] {
    let object = OBJ_txt2obj(name, 1)
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(handle, object, -1)
    guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(handle, index)) else {
      return []
    }
    var next = ASN1_STRING_get0_data(value)
    let elements = d2i_ASN1_SEQUENCE_ANY(nil, &next, Int(ASN1_STRING_length(value)))
    ERR_clear_error()
    guard let elements else { return [] }
    defer { copenssl_free_elements(elements) }
    return (0..<copenssl_element_count(elements)).compactMap {
      copenssl_text_element(elements, $0).flatMap(CertificateText.string)
    }
  }
}
