import NIOSSL
import SwiftASN1
import X509

/// The topics that a provider's certificate is for.
enum CertificateTopics {
  private static let list: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 6]

  /// That of the subject's UID first.
  static func all(of certificate: NIOSSLCertificate) -> [String] {
    var topics = TopicRule.topic(of: certificate).map { [$0] } ?? []
    guard let der = try? certificate.toDERBytes(),
      let certificate = try? Certificate(derEncoded: der),
      let value = certificate.extensions[oid: list]?.value,
      let node = try? BER.parse(value),
      case .constructed(let elements) = node.content
    else { return topics }
    // Each topic, a text, is followed by a sequence that says what kind of app it is.
    for element in elements where element.identifier == .utf8String {
      guard let text = try? ASN1UTF8String(berEncoded: element) else { continue }
      let topic = String(text)
      if !topics.contains(topic) { topics.append(topic) }
    }
    return topics
  }
}
