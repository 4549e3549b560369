import BinaryServer

/// The topics of a provider's certificate.
enum CertificateTopics {
  private static let list = "1.2.840.113635.100.6.3.6"

  /// The subject's UID comes first.
  static func all(of certificate: Certificate) -> [String] {
    var topics = TopicRule.topic(of: certificate).map { [$0] } ?? []
    // The extension has each topic as a string, followed by a sequence with the kind of app.
    for topic in certificate.texts(inExtension: list)
    where !topics.contains(topic) {
      topics.append(topic)
    }
    return topics
  }
}
