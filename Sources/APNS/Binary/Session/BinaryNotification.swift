import CAPNS

extension BinarySession where Net: ~Copyable {
  /// A caller's notification as the wire carries it, checked. The payload may be written later.
  @inline(__always)
  func notification(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
    payloadCount: Int, isPassed: Bool
  ) throws(Failure) -> WireNotification {
    let tokenLength = given.pointee.token_length
    guard let token = given.pointee.token, tokenLength > 0, tokenLength <= Int(APNS_TOKEN_MAX),
      payloadCount > 0, payloadCount <= options.payloadMax,
      given.pointee.priority == 0 || given.pointee.priority == 5 || given.pointee.priority == 10,
      given.pointee.expiry >= Int64(APNS_EXPIRY_ONCE), !given.namesChannel
    else {
      throw .refusal(of: given, payloadCount: payloadCount, payloadMax: options.payloadMax)
    }
    let expiry: UInt32? =
      switch given.pointee.expiry {
      case 0: nil
      case ...0: 0
      case let seconds: UInt32(clamping: seconds)
      }
    return WireNotification(
      token: UnsafeRawBufferPointer(start: token, count: tokenLength), payload: payload,
      expiry: expiry, priority: given.pointee.priority == 0 ? nil : given.pointee.priority)
  }

  func maxPayload(_ given: UnsafePointer<apns_notification_t>) -> Int { options.payloadMax }
}
