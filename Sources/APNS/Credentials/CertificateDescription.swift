import CAPNS
import COpenSSL
import CSystem

/// A certificate's description of the provider, as C strings in separately allocated memory.
struct CertificateDescription: ~Copyable {
  /// First the pointers to the topics and a NULL, then the bytes of every text.
  private let memory: UnsafeMutableRawPointer
  let topicCount: Int
  let notBefore: UNIXSeconds
  let notAfter: UNIXSeconds
  let environments: UInt32
  /// It has Apple's extension for VoIP, and none for alerts.
  let isForVoIP: Bool

  var topics: UnsafePointer<UnsafePointer<CChar>?> {
    UnsafeRawPointer(memory).assumingMemoryBound(to: UnsafePointer<CChar>?.self)
  }

  /// The first of the texts.
  var subject: UnsafePointer<CChar> {
    UnsafeRawPointer(memory + Self.pointerBytes(topicCount)).assumingMemoryBound(to: CChar.self)
  }

  private static func pointerBytes(_ count: Int) -> Int {
    (count &+ 1) &* MemoryLayout<UnsafePointer<CChar>?>.stride
  }

  init(_ certificate: OpaquePointer) throws(Failure) {
    guard let texts = BIO_new(BIO_s_mem()) else { throw .outOfMemory }
    defer { BIO_free(texts) }
    TLSErrors.clear()
    guard copenssl_print_subject(texts, certificate) >= 0,
      BIO_write(texts, copenssl_empty_text(), 1) == 1
    else {
      throw .outOfMemory
    }
    var topics = TopicList(texts)
    topics.addUserIdentifiers(of: certificate)
    topics.addExtension(of: certificate)
    TLSErrors.clear()
    var written: UnsafeMutablePointer<CChar>?
    let length = copenssl_written(texts, &written)
    if topics.areTooMany {
      throw Failure(APNS_ERR_CREDENTIALS, "the certificate lists more than 1000 topics")
    }
    guard !topics.isOutOfMemory, let written, length > 0,
      let memory = malloc(Self.pointerBytes(topics.count) &+ length)
    else { throw .outOfMemory }
    let start = memory + Self.pointerBytes(topics.count)
    start.copyMemory(from: written, byteCount: length)
    let pointers = memory.bindMemory(to: UnsafePointer<CChar>?.self, capacity: topics.count &+ 1)
    var next = UnsafePointer(start.bindMemory(to: CChar.self, capacity: length))
    for index in 0..<topics.count {
      next += strlen(next) &+ 1
      pointers[index] = next
    }
    pointers[topics.count] = nil
    self.memory = memory
    topicCount = topics.count
    notBefore = Self.seconds(X509_get0_notBefore(certificate))
    notAfter = Self.seconds(X509_get0_notAfter(certificate))
    let uses = copenssl_push_uses(certificate)
    environments =
      (uses & 1 << 1 != 0 ? 1 << APNS_ENVIRONMENT_SANDBOX.rawValue : 0)
      | (uses & 1 << 2 != 0 ? 1 << APNS_ENVIRONMENT_PRODUCTION.rawValue : 0)
    isForVoIP = uses & (1 << 1 | 1 << 2 | 1 << 4) == 1 << 4
  }

  deinit { free(memory) }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
    guard let epoch = ASN1_TIME_set(nil, 0) else { return 0 }
    defer { ASN1_STRING_free(epoch) }
    var (days, seconds): (CInt, CInt) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
    return Int64(days) &* 86_400 &+ Int64(seconds)
  }

}

/// Collects the topics, each once, one after the other in a memory BIO.
private struct TopicList {
  private let texts: OpaquePointer
  private(set) var count = 0
  private(set) var isOutOfMemory = false
  /// A limit, because each topic is compared with those before it.
  private static let maximum = 1000
  private var seen = 0

  var areTooMany: Bool { seen > Self.maximum }

  init(_ texts: OpaquePointer) { self.texts = texts }

  mutating func addUserIdentifiers(of certificate: OpaquePointer) {
    let name = X509_get_subject_name(certificate)
    var index = X509_NAME_get_index_by_NID(name, NID_userId, -1)
    while index >= 0 {
      add(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index)))
      index = X509_NAME_get_index_by_NID(name, NID_userId, index)
    }
  }

  /// Apple's extension is a sequence of topics, each followed by a sequence that names the kind of
  /// app.
  mutating func addExtension(of certificate: OpaquePointer) {
    let index = Self.extensionIndex(certificate, "1.2.840.113635.100.6.3.6")
    guard index >= 0,
      let value = X509_EXTENSION_get_data(X509_get_ext(certificate, index))
    else { return }
    var next = ASN1_STRING_get0_data(value)
    guard let elements = d2i_ASN1_SEQUENCE_ANY(nil, &next, Int(ASN1_STRING_length(value))) else {
      return
    }
    defer { copenssl_free_elements(elements) }
    for index in 0..<copenssl_element_count(elements) {
      if let text = copenssl_text_element(elements, index) { add(text) }
    }
  }

  private static func extensionIndex(_ certificate: OpaquePointer, _ name: StaticString) -> CInt {
    guard let object = OBJ_txt2obj(name.utf8Start, 1) else { return -1 }
    defer { ASN1_OBJECT_free(object) }
    return X509_get_ext_by_OBJ(certificate, object, -1)
  }

  private mutating func add(_ text: UnsafePointer<ASN1_STRING>?) {
    seen &+= 1
    if areTooMany { return }
    var bytes: UnsafeMutablePointer<UInt8>?
    let length = Int(ASN1_STRING_to_UTF8(&bytes, text))
    guard let bytes else { return }
    defer { copenssl_free(bytes) }
    // No topic contains a NUL, and a C string could not hold one.
    guard length > 0, memchr(bytes, 0, length) == nil, !contains(bytes, length) else { return }
    if BIO_write(texts, bytes, CInt(truncatingIfNeeded: length)) == length,
      BIO_write(texts, copenssl_empty_text(), 1) == 1
    {
      count &+= 1
    } else {
      isOutOfMemory = true
    }
  }

  /// Whether the topic is there already. The subject before the topics is skipped.
  private func contains(_ bytes: UnsafePointer<UInt8>, _ length: Int) -> Bool {
    var start: UnsafeMutablePointer<CChar>?
    guard copenssl_written(texts, &start) > 0, var next = start else { return false }
    for _ in 0..<count {
      next += strlen(next) &+ 1
      if strlen(next) == length, memcmp(next, bytes, length) == 0 { return true }
    }
    return false
  }
}
