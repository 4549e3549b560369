import CSystem

/// The topics of a provider's certificate, and the push type that they are for. Its texts belong to
/// the credentials.
struct ProviderTopics {
  var list: UnsafePointer<UnsafePointer<CChar>?>?
  var count = 0
  var isForVoIP = false
  /// The certificate identifies the provider, not a provider token.
  var isShown = true

  /// The app that it is for first of all: its subject's UID.
  var first: UnsafePointer<CChar>? { count > 0 ? list?.pointee : nil }

  private static func bytes(_ text: UnsafePointer<CChar>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text, count: strlen(text))
  }

  /// The type that it is for, if it is for one only: a certificate for VoIP, or for device management.
  var pushType: PushType? {
    guard isShown else { return nil }
    if isForVoIP { return .voip }
    guard let first else { return nil }
    let topic = Self.bytes(first)
    return isApp(topic) ? nil : PushType.named(in: topic)
  }

  /// Whether the topic is an app's own: it lists others of that app.
  func isApp(_ topic: UnsafeRawBufferPointer) -> Bool {
    for index in 0..<count {
      if let other = list?[index], PushType.isApp(topic, of: Self.bytes(other)) { return true }
    }
    return false
  }
}
