import CAPNS

/// Why APNs refused a notification: the number of a row in the table of reasons.
package struct Reason: Equatable {
  /// What a session does when APNs gives this reason.
  enum Remedy {
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

  /// APNs' documentation of a reason, and how the session handles a notification with it.
  private struct Row {
    /// The HTTP status that APNs sends with it.
    let status: UInt16
    /// The equivalent status of the binary interface.
    let reject: UInt8
    let remedy: Remedy
    let text: StaticString

    @inline(__always)
    init(_ status: UInt16, _ reject: apns_reject_t, _ remedy: Remedy, _ text: StaticString) {
      self.status = status
      self.reject = UInt8(truncatingIfNeeded: reject.rawValue)
      self.remedy = remedy
      self.text = text
    }
  }

  @inline(never)
  private static func row(_ number: Int) -> Row? {
    switch number {
    case 1: Row(400, APNS_REJECT_INVALID_TOKEN, .reject, "BadDeviceToken")
    case 2: Row(400, APNS_REJECT_INVALID_TOKEN, .reject, "DeviceTokenNotForTopic")
    case 3: Row(400, APNS_REJECT_MISSING_TOKEN, .reject, "MissingDeviceToken")
    case 4: Row(400, APNS_REJECT_MISSING_TOPIC, .reject, "MissingTopic")
    case 5: Row(400, APNS_REJECT_MISSING_PAYLOAD, .reject, "PayloadEmpty")
    case 6: Row(400, APNS_REJECT_INVALID_TOPIC_SIZE, .reject, "BadTopic")
    case 7: Row(413, APNS_REJECT_INVALID_PAYLOAD_SIZE, .reject, "PayloadTooLarge")
    case 8: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "BadCollapseId")
    case 9: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "BadExpirationDate")
    case 10: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "BadMessageId")
    case 11: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "BadPriority")
    case 12: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "DuplicateHeaders")
    case 13: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "InvalidPushType")
    case 14: Row(404, APNS_REJECT_PROCESSING_ERROR, .reject, "BadPath")
    case 15: Row(405, APNS_REJECT_PROCESSING_ERROR, .reject, "MethodNotAllowed")
    case 16: Row(400, APNS_REJECT_SHUTDOWN, .reconnect, "IdleTimeout")
    case 17: Row(403, APNS_REJECT_SHUTDOWN, .renewToken, "ExpiredProviderToken")
    case 18: Row(403, APNS_REJECT_SHUTDOWN, .reconnectOnce, "UnrelatedKeyIdInToken")
    case 19: Row(400, APNS_REJECT_SHUTDOWN, .reject, "TopicDisallowed")
    case 20: Row(403, APNS_REJECT_SHUTDOWN, .reject, "BadCertificate")
    case 21: Row(403, APNS_REJECT_SHUTDOWN, .reject, "BadCertificateEnvironment")
    case 22: Row(403, APNS_REJECT_SHUTDOWN, .reject, "BadEnvironmentKeyIdInToken")
    case 23: Row(403, APNS_REJECT_SHUTDOWN, .reject, "Forbidden")
    case 24: Row(403, APNS_REJECT_SHUTDOWN, .reject, "InvalidProviderToken")
    case 25: Row(403, APNS_REJECT_SHUTDOWN, .reject, "MissingProviderToken")
    case 26: Row(410, APNS_REJECT_NONE, .unregistered, "Unregistered")
    case 27: Row(410, APNS_REJECT_NONE, .unregistered, "ExpiredToken")
    case 28: Row(429, APNS_REJECT_SHUTDOWN, .wait, "TooManyProviderTokenUpdates")
    case 29: Row(429, APNS_REJECT_PROCESSING_ERROR, .wait, "TooManyRequests")
    case 30: Row(500, APNS_REJECT_PROCESSING_ERROR, .wait, "InternalServerError")
    case 31: Row(503, APNS_REJECT_SHUTDOWN, .wait, "ServiceUnavailable")
    case 32: Row(503, APNS_REJECT_SHUTDOWN, .reconnect, "Shutdown")
    case 33: Row(400, APNS_REJECT_MISSING_TOKEN, .reject, "MissingChannelId")
    case 34: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "BadChannelId")
    case 35: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "ChannelNotRegistered")
    case 36: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "CannotCreateChannelConfig")
    case 37: Row(400, APNS_REJECT_SHUTDOWN, .reject, "FeatureNotEnabled")
    case 38: Row(400, APNS_REJECT_PROCESSING_ERROR, .reject, "MissingPushType")
    case 39: Row(400, APNS_REJECT_INVALID_TOPIC_SIZE, .reject, "TopicMismatch")
    default: nil
    }
  }

  private init(number: UInt8) { self.number = number }

  /// A text that is not listed becomes `other`.
  package init(_ number: UInt32) {
    self.number = UInt8(exactly: number) ?? Self.other.number
    if self != .none, row == nil { self = .other }
  }

  init(text: UnsafeRawBufferPointer) {
    var number = 1
    while let row = Self.row(number) {
      if text.equals(row.text) {
        self.init(number: UInt8(truncatingIfNeeded: number))
        return
      }
      number &+= 1
    }
    self = .other
  }

  /// Nil for `none` and `other`.
  private var row: Row? { Self.row(Int(number)) }

  /// Static, followed by a NUL; nil if the reason is not listed.
  package var text: UnsafeRawBufferPointer? {
    guard let row else { return nil }
    return UnsafeRawBufferPointer(row.text)
  }

  /// The HTTP status that APNs sends with it; 0 if the reason is not listed.
  package var status: Int { Int(row?.status ?? 0) }

  /// The equivalent status of the binary interface, if the notification is rejected.
  var reject: UInt8 { row?.reject ?? (self == .none ? 0 : 255) }

  /// `httpStatus` is the response's HTTP status, which decides if the text is not known.
  func remedy(httpStatus: Int) -> Remedy {
    if let row { return row.remedy }
    return httpStatus == 429 || httpStatus >= 500 ? .wait : .reject
  }

  /// After how many seconds a notification with this response may be sent again. `asked` is the
  /// response's retry-after, 0 if missing. 0: there is no point in it.
  func retryAfter(httpStatus: Int, asked: Seconds) -> Seconds {
    switch remedy(httpStatus: httpStatus) {
    case .reject, .unregistered, .renewToken: return 0
    case .wait, .reconnect, .reconnectOnce: break
    }
    if asked > 0 { return asked }
    // APNs refuses provider tokens that change more often than every 20 minutes.
    if self == Reason(28) { return 1200 }
    // Apple's words for 5xx are 15 minutes.
    return httpStatus >= 500 ? 900 : 60
  }
}
