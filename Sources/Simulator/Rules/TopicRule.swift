import BinaryServer

/// Which topic the provider's certificate has to name.
package enum TopicRule: Sendable, Equatable {
  /// Any topic.
  case any
  /// Any of these. All device tokens belong to them.
  case only([String])

  /// Longer than any bundle identifier.
  private static let longest = 255

  /// The status that answers every notification; nil if the certificate is fine.
  func status(for certificate: Certificate?) -> UInt8? {
    guard let topic = Self.topic(of: certificate), !topic.isEmpty else { return 3 }
    if topic.utf8.count > Self.longest { return 6 }
    if case .only(let names) = self, !names.contains(topic) { return 8 }
    return nil
  }

  /// Apple puts the topic into the subject as UID.
  static func topic(of certificate: Certificate?) -> String? {
    certificate?.subject.userIdentifier
  }
}
