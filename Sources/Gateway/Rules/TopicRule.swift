import NIOSSL

/// What the provider's certificate must say of the app it pushes to.
package enum TopicRule: Sendable, Equatable {
  /// Some topic.
  case any
  /// One of these, which all device tokens belong to.
  case only([String])

  /// Longer than any bundle identifier.
  private static let longest = 255

  /// The status that answers every notification; nil where all is well.
  func status(for certificate: NIOSSLCertificate?) -> UInt8? {
    guard let topic = Self.topic(of: certificate), !topic.isEmpty else { return 3 }
    if topic.utf8.count > Self.longest { return 6 }
    if case .only(let names) = self, !names.contains(topic) { return 8 }
    return nil
  }

  /// Apple puts it into the subject as UID.
  static func topic(of certificate: NIOSSLCertificate?) -> String? {
    certificate.flatMap { Certificate($0) }?.subject.userIdentifier
  }
}
