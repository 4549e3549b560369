import CAPNS

extension Failure {
  /// Why a notification is refused, in the words and with the status of the binary interface.
  @inline(never)
  static func refusal(
    of given: UnsafePointer<apns_notification_t>, payloadCount: Int, payloadMax: Int
  ) -> Failure {
    let notification = given.pointee
    if given.namesChannel {
      return Failure(
        APNS_ERR_ARGUMENT, "the binary interface has no channels: broadcasts need HTTP/2",
        reject: APNS_REJECT_PROCESSING_ERROR)
    }
    if notification.token == nil {
      return Failure(APNS_ERR_ARGUMENT, "token is NULL", reject: APNS_REJECT_MISSING_TOKEN)
    }
    let reject =
      if notification.token_length == 0 {
        APNS_REJECT_MISSING_TOKEN
      } else if notification.token_length < 0 || notification.token_length > Int(APNS_TOKEN_MAX) {
        APNS_REJECT_INVALID_TOKEN_SIZE
      } else if given.hasHexToken {
        APNS_REJECT_INVALID_TOKEN
      } else if payloadCount == 0 {
        APNS_REJECT_MISSING_PAYLOAD
      } else if payloadCount < 0 || payloadCount > payloadMax {
        APNS_REJECT_INVALID_PAYLOAD_SIZE
      } else {
        APNS_REJECT_PROCESSING_ERROR
      }
    return Failure(APNS_ERR_ARGUMENT, reject: reject) {
      if notification.token_length <= 0 || notification.token_length > Int(APNS_TOKEN_MAX) {
        $0.append("the device token has ")
        $0.append(size: notification.token_length)
        $0.append(" bytes, not 1 to 100")
      } else if given.hasHexToken {
        $0.append("the device token is ")
        $0.append(notification.token_length)
        $0.append(" hexadecimal characters, not the bytes that they stand for")
        $0.append(": see apns_token_from_hex()")
      } else if payloadCount == 0 {
        $0.append("the payload is empty")
      } else if payloadCount < 0 || payloadCount > payloadMax {
        $0.append("the payload has ")
        $0.append(size: payloadCount)
        $0.append(" bytes, more than ")
        $0.append(payloadMax)
      } else if notification.expiry < Int64(APNS_EXPIRY_ONCE) {
        $0.append(expiry: notification.expiry)
      } else {
        $0.append("priority is ")
        $0.append(Int(notification.priority))
        $0.append(", not 5 or 10")
      }
    }
  }
}

enum HexToken {
  /// Characters of a token of 32 bytes: none is shorter.
  static var minLength: Int { 64 }
}

extension UnsafePointer<apns_notification_t> {
  /// The token is hexadecimal text.
  var hasHexToken: Bool {
    @inline(__always) get { pointee.token_length >= HexToken.minLength && isHexToken }
  }

  @inline(never)
  private var isHexToken: Bool {
    guard let token = pointee.token else { return false }
    for index in 0..<min(pointee.token_length, Int(APNS_TOKEN_MAX)) {
      let byte = token.load(fromByteOffset: index, as: UInt8.self)
      guard byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6 else { return false }
    }
    return true
  }

  /// It goes to a channel instead of a device.
  var namesChannel: Bool {
    @inline(__always) get {
      guard let channel = pointee.channel_id else { return false }
      return channel.pointee != 0
    }
  }
}
