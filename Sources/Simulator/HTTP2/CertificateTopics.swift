import BinaryServer
import NIOSSL

/// The topics that a provider's certificate is for.
enum CertificateTopics {
  private static let list = "1.2.840.113635.100.6.3.6"

  /// That of the subject's UID first.
  static func all(of certificate: NIOSSLCertificate) -> [String] {
    var topics = TopicRule.topic(of: certificate).map { [$0] } ?? []
    // Each topic, a text, is followed by a sequence that says what kind of app it is.
    for topic in Certificate(certificate)?.texts(inExtension: list) ?? []
    where !topics.contains(topic) {
      topics.append(topic)
    }
    return topics
  }
}
