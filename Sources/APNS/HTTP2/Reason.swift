/// Why APNs refused a notification: the number of a row in the table of reasons.
package struct Reason: Equatable {
  /// What a session does when APNs gives this reason.
  enum Remedy: UInt8 {
    /// Reject the notification.
    case reject
    /// Send it again after a while, longer each time.
    case wait
    /// Send it again on another connection.
    case reconnect
    /// Send it again on another connection, once.
    case reconnectOnce
    /// Send it again with a new provider token, once.
    case renewToken
    /// The device is gone: reject it, and report it in the feedback.
    case unregistered
  }

  /// The number in `apns_reason_t`.
  private(set) var number: UInt8

  static var none: Reason { Reason(number: 0) }
  static var other: Reason { Reason(number: 255) }

  /// Rows in the order of their numbers: the HTTP status, a letter for the binary status (A
  /// is 0), a letter for the remedy, and the text.
  private static var table: WordList {
    WordList(
      """
      400IABadDeviceToken\0\
      400IADeviceTokenNotForTopic\0\
      400CAMissingDeviceToken\0\
      400DAMissingTopic\0\
      400EAPayloadEmpty\0\
      400GABadTopic\0\
      413HAPayloadTooLarge\0\
      400BABadCollapseId\0\
      400BABadExpirationDate\0\
      400BABadMessageId\0\
      400BABadPriority\0\
      400BADuplicateHeaders\0\
      400BAInvalidPushType\0\
      404BABadPath\0\
      405BAMethodNotAllowed\0\
      400KCIdleTimeout\0\
      403KEExpiredProviderToken\0\
      403KDUnrelatedKeyIdInToken\0\
      400KATopicDisallowed\0\
      403KABadCertificate\0\
      403KABadCertificateEnvironment\0\
      403KABadEnvironmentKeyIdInToken\0\
      403KAForbidden\0\
      403KAInvalidProviderToken\0\
      403KAMissingProviderToken\0\
      410AFUnregistered\0\
      410AFExpiredToken\0\
      429KBTooManyProviderTokenUpdates\0\
      429BBTooManyRequests\0\
      500BBInternalServerError\0\
      503KBServiceUnavailable\0\
      503KCShutdown\0\
      400CAMissingChannelId\0\
      400BABadChannelId\0\
      400BAChannelNotRegistered\0\
      400BACannotCreateChannelConfig\0\
      400KAFeatureNotEnabled\0\
      400BAMissingPushType\0\
      400GATopicMismatch\0\

      """)
  }
  private static var textOffset: Int { 5 }

  private init(number: UInt8) { self.number = number }

  /// A text that is not listed becomes `other`.
  package init(_ number: UInt32) {
    self.number = UInt8(exactly: number) ?? Self.other.number
    if self != .none, row.count == 0 { self = .other }
  }

  init(text: UnsafeRawBufferPointer) {
    guard let index = Self.table.number(of: text, behind: Self.textOffset) else {
      self = .other
      return
    }
    number = UInt8(truncatingIfNeeded: index &+ 1)
  }

  /// Of `none` and `other` it is empty.
  private var row: UnsafeRawBufferPointer {
    Self.table[self == .other ? -1 : Int(number) &- 1]
  }

  /// Static, followed by a NUL; nil if the reason is not listed.
  package var text: UnsafeRawBufferPointer? {
    let row = row
    guard row.count > Self.textOffset else { return nil }
    return UnsafeRawBufferPointer(rebasing: row[Self.textOffset...])
  }

  /// The HTTP status that APNs sends with it; 0 if the reason is not listed.
  package var status: Int {
    let row = row
    guard row.count > Self.textOffset else { return 0 }
    var status = 0
    for index in 0..<3 { status = status &* 10 &+ Int(row[index] &- 0x30) }
    return status
  }

  /// The equivalent status of the binary interface, if the notification is rejected.
  var reject: UInt8 {
    let row = row
    if row.count > Self.textOffset { return row[3] &- 0x41 }
    return self == .none ? 0 : 255
  }

  /// `answered` is the response's HTTP status, which decides if the text is not known.
  func remedy(answered: Int) -> Remedy {
    let row = row
    if row.count > Self.textOffset { return Remedy(rawValue: row[4] &- 0x41) ?? .reject }
    return answered == 429 || answered >= 500 ? .wait : .reject
  }

  /// After how many seconds a notification with this response may be sent again. `asked` is the
  /// response's retry-after, 0 if missing. 0: there is no point in it.
  func retryAfter(answered: Int, asked: Seconds) -> Seconds {
    switch remedy(answered: answered) {
    case .reject, .unregistered, .renewToken: return 0
    case .wait, .reconnect, .reconnectOnce: break
    }
    if asked > 0 { return asked }
    // APNs refuses provider tokens that change more often than every 20 minutes.
    if self == Reason(28) { return 1200 }
    // Apple's words for 5xx are 15 minutes.
    return answered >= 500 ? 900 : 60
  }
}
