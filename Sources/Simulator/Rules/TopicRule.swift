import BinaryServer

/// The topic that the provider's certificate must have.
package enum TopicRule: Sendable, Equatable {
  case any
  /// Any topic of a list, to which all device tokens belong.
  case only([String])

  /// Longer than any bundle ID.
  private static let maxLength = 255

  /// The status of every notification; nil if the certificate is valid.
  func status(for certificate: Certificate?) -> UInt8? {
    guard let topic = Self.topic(of: certificate), !topic.isEmpty else { return 3 }
    if topic.utf8.count > Self.maxLength { return 6 }
    if case .only(let names) = self, !names.contains(topic) { return 8 }
    return nil
  }

  /// Apple puts the topic into the subject's UID.
  static func topic(of certificate: Certificate?) -> String? {
    certificate?.subject.userIdentifier
  }
}
