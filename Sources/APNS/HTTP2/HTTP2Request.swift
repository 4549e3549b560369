import CAPNS

/// A notification's request to APNs by HTTP/2, checked before it uses a stream. Its texts
/// belong to the caller.
struct HTTP2Request {
  let token: UnsafeRawBufferPointer
  let payload: UnsafeRawBufferPointer
  let type: PushType
  /// 0: not given.
  let priority: UInt8
  /// UNIX seconds. 0: try once. Nil: not given.
  let expiry: Int64?
  /// Empty: the certificate is for one topic only.
  let topic: UnsafeRawBufferPointer
  /// Empty: no collapse identifier.
  let collapse: UnsafeRawBufferPointer
  /// Nil: APNs makes an identifier.
  let identifier: MessageID?

  static let collapseMax = 64
  /// Apple's topics are never nearly this long.
  static let topicMax = 255

  /// `topic` is used if the notification names none; `topicCount` is its length if it was
  /// checked before. `payloadMax` 0 stands for the limit of the push type.
  init(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
    payloadMax: Int, topic fallback: UnsafePointer<CChar>?, topicCount: Int? = nil,
    needsTopic: Bool
  ) throws(Failure) {
    let length = given.pointee.token_length
    guard length > 0, length <= Int(APNS_TOKEN_MAX) else {
      throw Self.refusal(
        "the device token has ", length, " bytes, not 1 to 100",
        reject: length == 0 ? APNS_REJECT_MISSING_TOKEN : APNS_REJECT_INVALID_TOKEN_SIZE)
    }
    guard let token = given.pointee.token else {
      throw Failure(APNS_ERR_ARGUMENT, "token is NULL", reject: APNS_REJECT_MISSING_TOKEN)
    }
    guard payload.count > 0 else {
      throw Failure(
        APNS_ERR_ARGUMENT, "the payload is empty", reject: APNS_REJECT_MISSING_PAYLOAD)
    }
    type = try Self.type(given.pointee.push_type, of: payload)
    let limit = payloadMax == 0 ? type.payloadMax : min(payloadMax, type.payloadMax)
    guard payload.count <= limit else {
      throw Self.refusal(
        "the payload has ", payload.count, " bytes, more than ", limit,
        reject: APNS_REJECT_INVALID_PAYLOAD_SIZE)
    }
    priority = try Self.priority(given.pointee.priority, of: type)
    switch given.pointee.expiry {
    case 0: expiry = nil
    case Int64(APNS_EXPIRY_ONCE)...: expiry = max(0, given.pointee.expiry)
    default:
      throw Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR) {
        $0.append(expiry: given.pointee.expiry)
      }
    }
    if Self.isEmpty(given.pointee.topic), let topicCount {
      topic = UnsafeRawBufferPointer(start: fallback, count: topicCount)
    } else {
      topic = try Self.topic(
        Self.isEmpty(given.pointee.topic) ? fallback : given.pointee.topic)
    }
    if needsTopic, topic.count == 0 {
      throw Failure(
        APNS_ERR_ARGUMENT, "there is no topic, and a provider token needs one",
        reject: APNS_REJECT_MISSING_TOPIC, cause: APNS_CAUSE_TOPIC)
    }
    collapse = try Self.text(
      given.pointee.collapse_id, "collapse_id", most: Self.collapseMax, lowest: 0x20,
      reject: APNS_REJECT_PROCESSING_ERROR)
    if let id = given.pointee.apns_id, id.pointee != 0 {
      guard let read = MessageID(id) else {
        throw Failure(
          APNS_ERR_ARGUMENT, "apns_id is not a UUID", reject: APNS_REJECT_PROCESSING_ERROR)
      }
      identifier = read
    } else {
      identifier = nil
    }
    self.token = UnsafeRawBufferPointer(start: token, count: length)
    self.payload = payload
  }

  static func topic(
    _ text: UnsafePointer<CChar>?, reject: apns_reject_t = APNS_REJECT_INVALID_TOPIC_SIZE
  ) throws(Failure) -> UnsafeRawBufferPointer {
    try Self.text(
      text, "topic", most: Self.topicMax, lowest: 0x21, reject: reject, cause: APNS_CAUSE_TOPIC)
  }

  @inline(__always)
  private static func isEmpty(_ text: UnsafePointer<CChar>?) -> Bool {
    guard let text else { return true }
    return text.pointee == 0
  }

  @inline(__always)
  private static func type(
    _ given: UInt8, of payload: UnsafeRawBufferPointer
  ) throws(Failure) -> PushType {
    if given == 0 { return PushType.inferred(from: payload) }
    guard let type = PushType(rawValue: given) else {
      throw refusal("push_type is ", Int(given), ", not an apns_push_type_t")
    }
    return type
  }

  /// A background push has to have priority 5 (Sending notification requests to APNs,
  /// apns-priority).
  @inline(__always)
  private static func priority(_ given: UInt8, of type: PushType) throws(Failure) -> UInt8 {
    if type == .background, given == 0 || given == 5 { return 5 }
    guard given == 0 || given == 1 || given == 5 || given == 10 else {
      throw refusal("priority is ", Int(given), ", not 1, 5 or 10")
    }
    if type == .background {
      throw refusal("priority is ", Int(given), ", and a background push has 5")
    }
    return given
  }

  /// Checks the text of a header. A control character could end the header or begin another one.
  @_optimize(speed) @inline(never)
  private static func text(
    _ given: UnsafePointer<CChar>?, _ name: StaticString, most: Int, lowest: UInt8,
    reject: apns_reject_t, cause: apns_cause_t = APNS_CAUSE_NONE
  ) throws(Failure) -> UnsafeRawBufferPointer {
    guard let given else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    var count = 0
    while given[count] != 0 {
      let byte = UInt8(bitPattern: given[count])
      // A header's text never begins or ends with a space (RFC 9110, 5.5).
      guard byte >= lowest, byte != 0x7F, byte != 0x20 || count > 0 && given[count &+ 1] != 0
      else {
        throw Failure(APNS_ERR_ARGUMENT, reject: reject, cause: cause) {
          $0.append(name)
          $0.append(" has character 0x")
          $0.append(hex: byte)
          $0.append(" at ")
          $0.append(count)
        }
      }
      count &+= 1
      if count > most {
        throw Failure(APNS_ERR_ARGUMENT, reject: reject, cause: cause) {
          $0.append(name)
          $0.append(" has more than ")
          $0.append(most)
          $0.append(" bytes")
        }
      }
    }
    return UnsafeRawBufferPointer(start: given, count: count)
  }

  @inline(never)
  private static func refusal(
    _ before: StaticString, _ number: Int, _ behind: StaticString, _ other: Int? = nil,
    reject: apns_reject_t = APNS_REJECT_PROCESSING_ERROR
  ) -> Failure {
    Failure(APNS_ERR_ARGUMENT, reject: reject) {
      $0.append(before)
      $0.append(size: number)
      $0.append(behind)
      if let other { $0.append(other) }
    }
  }
}

/// A UUID in lower case, as in `apns-id`.
struct MessageID {
  static let count = 36
  private(set) var bytes = InlineArray<36, UInt8>(repeating: 0)

  /// Nil if the text is not 8-4-4-4-12 hex digits, in either case.
  @inline(never)
  init?(_ text: UnsafePointer<CChar>) {
    for index in 0..<Self.count {
      let byte = UInt8(bitPattern: text[index])
      switch index {
      case 8, 13, 18, 23:
        guard byte == 0x2D else { return nil }
        bytes[index] = byte
      default:
        switch byte {
        case 0x30...0x39, 0x61...0x66: bytes[index] = byte
        case 0x41...0x46: bytes[index] = byte | 0x20
        default: return nil
        }
      }
    }
    guard text[Self.count] == 0 else { return nil }
  }
}
