import CAPNS
import CSystem

/// A notification's HTTP/2 request to APNs, checked before it uses a stream. Its texts belong to
/// the caller.
struct HTTP2Request {
  /// The device token, or the text of a channel.
  let token: UnsafeRawBufferPointer
  let purpose: RequestPurpose
  let type: PushType
  /// The payload is still to be read for it.
  private let infersType: Bool
  private let priority: UInt8
  /// UNIX seconds. 0: try once. Nil: not given.
  let expiry: UNIXSeconds?
  /// Empty: the certificate is for one topic only.
  let topic: UnsafeRawBufferPointer
  /// Goes after the topic: the push type's suffix, if a session's topic lacks it.
  let topicSuffix: UnsafeRawBufferPointer
  /// The type that the topic, or the certificate, is for.
  private let named: PushType?
  /// Empty: no collapse identifier.
  let collapse: UnsafeRawBufferPointer
  /// None: APNs makes one.
  let identifier: MessageID
  /// The payload tells the type, and the topic is the session's.
  let isUsual: Bool

  static let collapseMax = 64
  static let channelMax = Int(APNS_CHANNEL_ID_MAX)
  /// Apple's topics are never nearly this long.
  static let topicMax = 255

  /// `topic` is used if the notification has no topic; `topicCount` is its length if it was checked
  /// before. `inferred` is the payload's push type, if it is known. `certificate` is the topic that
  /// APNs then takes from the certificate, and `isFor` the type that one of them is for.
  /// `payloadMax` 0 stands for the limit of the push type. A payload with only a count must be read
  /// after it has been written.
  init(
    _ given: UnsafePointer<apns_notification_t>, payload: UnsafeRawBufferPointer,
    payloadCount: Int, inferred: PushType? = nil, payloadMax: Int,
    topic fallback: UnsafePointer<CChar>?, topicCount: Int? = nil,
    certificate: UnsafePointer<CChar>? = nil, isFor: PushType? = nil,
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
    guard payloadCount > 0 else {
      throw .refusal(of: given, payloadCount: payloadCount, payloadMax: payloadMax)
    }
    let isSessions = Self.isEmpty(given.pointee.topic)
    var topic: UnsafeRawBufferPointer
    if isSessions, let topicCount {
      topic = UnsafeRawBufferPointer(start: fallback, count: topicCount)
    } else {
      topic = try Self.topic(isSessions ? fallback : given.pointee.topic)
    }
    named = isSessions ? isFor : PushType.named(in: topic)
    if needsTopic, topic.count == 0 {
      throw Failure(
        APNS_ERR_ARGUMENT, "there is no topic, and a provider token needs one",
        reject: APNS_REJECT_MISSING_TOPIC, cause: APNS_CAUSE_TOPIC)
    }
    // The types that a payload can turn out to have share a limit.
    if let type = try Self.type(given.pointee.push_type, or: named) {
      self.type = type
      infersType = false
      isUsual = false
    } else {
      type = inferred ?? PushType.inferred(from: payload)
      infersType = payload.count == 0
      isUsual = isSessions
    }
    var suffix = UnsafeRawBufferPointer(start: nil, count: 0)
    if isSessions, topic.count == 0, let certificate {
      let its = UnsafeRawBufferPointer(start: certificate, count: strlen(certificate))
      suffix = Self.missingSuffix(of: its, for: type)
      if suffix.count > 0 { topic = its }
    } else if isSessions {
      suffix = Self.missingSuffix(of: topic, for: type)
    }
    self.topic = topic
    topicSuffix = suffix
    let limit = payloadMax == 0 ? type.payloadMax : min(payloadMax, type.payloadMax)
    guard payloadCount <= limit else {
      throw Self.refusal(
        "the payload has ", payloadCount, " bytes, more than ", limit,
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
    collapse = try Self.text(
      given.pointee.collapse_id, "collapse_id", maximum: Self.collapseMax, lowest: 0x20,
      reject: APNS_REJECT_PROCESSING_ERROR)
    identifier = try Self.identifier(given.pointee.apns_id)
    self.token = UnsafeRawBufferPointer(start: token, count: length)
    purpose = .device
  }

  /// A broadcast to a channel (Apple: Sending broadcast push notification requests to APNs).
  /// `fallback` is the app's if the notification does not name it.
  @inline(never)
  init(
    _ given: UnsafePointer<apns_notification_t>, to channel: UnsafePointer<CChar>,
    payloadCount: Int, payloadMax: Int, topic fallback: UnsafePointer<CChar>?
  ) throws(Failure) {
    guard given.pointee.token == nil, given.pointee.token_length == 0 else {
      throw Self.refusal("a notification has a token or a channel_id, not both")
    }
    token = try Self.channel(channel)
    purpose = .channel
    guard payloadCount > 0 else {
      throw Failure(
        APNS_ERR_ARGUMENT, "the payload is empty", reject: APNS_REJECT_MISSING_PAYLOAD)
    }
    let maximum = Int(APNS_PAYLOAD_MAX_BROADCAST)
    let limit = payloadMax == 0 ? maximum : min(payloadMax, maximum)
    guard payloadCount <= limit else {
      throw Self.refusal(
        "the payload has ", payloadCount, " bytes, more than ", limit,
        reject: APNS_REJECT_INVALID_PAYLOAD_SIZE)
    }
    guard given.pointee.push_type == 0 || given.pointee.push_type == PushType.liveactivity.rawValue
    else {
      throw Self.refusal(
        "push_type is ", Int(given.pointee.push_type), ", but a broadcast is for Live Activities")
    }
    (type, infersType, isUsual) = (.liveactivity, false, false)
    // Apple requires priority and expiration.
    let said = try Self.priority(given.pointee.priority, of: .liveactivity)
    priority = said == 0 ? 10 : said
    guard given.pointee.expiry >= Int64(APNS_EXPIRY_ONCE) else {
      throw Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR) {
        $0.append(expiry: given.pointee.expiry)
      }
    }
    expiry = max(0, given.pointee.expiry)
    topic = try Self.bundle(Self.isEmpty(given.pointee.topic) ? fallback : given.pointee.topic)
    named = nil
    if !Self.isEmpty(given.pointee.collapse_id) {
      throw Self.refusal("a broadcast has no collapse_id")
    }
    topicSuffix = UnsafeRawBufferPointer(start: nil, count: 0)
    collapse = UnsafeRawBufferPointer(start: nil, count: 0)
    identifier = try Self.identifier(given.pointee.apns_id)
  }

  /// A channel management request; both texts are checked.
  init(
    _ operation: ChannelOperation, channel: UnsafeRawBufferPointer, app: UnsafeRawBufferPointer
  ) {
    token = channel
    purpose = .management(operation)
    (type, infersType, isUsual) = (.liveactivity, false, false)
    priority = 0
    expiry = nil
    topic = app
    named = nil
    topicSuffix = UnsafeRawBufferPointer(start: nil, count: 0)
    collapse = UnsafeRawBufferPointer(start: nil, count: 0)
    identifier = .none
  }

  /// The text of a channel: base64, as it came from APNs.
  static func channel(
    _ text: UnsafePointer<CChar>
  ) throws(Failure) -> UnsafeRawBufferPointer {
    let bytes = try Self.text(
      text, "channel_id", maximum: channelMax, lowest: 0x21, reject: APNS_REJECT_PROCESSING_ERROR)
    var isEnding = false
    for index in 0..<bytes.count {
      switch bytes[index] {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F, 0x2D, 0x5F:
        if !isEnding { continue }
      case 0x3D where index > 0:
        isEnding = true
        continue
      default: break
      }
      throw Failure(APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR) {
        $0.append("channel_id is not base64: character 0x")
        $0.append(hex: bytes[index])
        $0.append(" at ")
        $0.append(index)
      }
    }
    return bytes
  }

  /// The bundle id of a topic: it becomes part of a path, so it has no character with a meaning there.
  static func bundle(
    _ topic: UnsafePointer<CChar>?, reject: apns_reject_t = APNS_REJECT_INVALID_TOPIC_SIZE
  ) throws(Failure) -> UnsafeRawBufferPointer {
    let text = try Self.topic(topic, reject: reject)
    let suffix: StaticString = ".push-type.liveactivity"
    let count = text.count &- (text.ends(with: suffix) ? suffix.utf8CodeUnitCount : 0)
    guard count > 0 else {
      throw Failure(
        APNS_ERR_ARGUMENT, "there is no topic: channels need the app's bundle id",
        reject: reject == APNS_REJECT_NONE ? reject : APNS_REJECT_MISSING_TOPIC,
        cause: APNS_CAUSE_TOPIC)
    }
    for index in 0..<count {
      switch text[index] {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: continue
      default: break
      }
      throw Failure(APNS_ERR_ARGUMENT, reject: reject, cause: APNS_CAUSE_TOPIC) {
        $0.append("a bundle id cannot have character 0x")
        $0.append(hex: text[index])
        $0.append(" at ")
        $0.append(index)
      }
    }
    return UnsafeRawBufferPointer(rebasing: text[0..<count])
  }

  struct Kind {
    let type: PushType
    /// 0: not given.
    let priority: UInt8
  }

  /// The push type and the priority. A payload that was still to be written is read for them, and
  /// refused if the priority does not suit what it is.
  @inline(__always)
  func kind(
    of payload: UnsafeRawBufferPointer
  ) throws(Failure) -> Kind {
    guard infersType else { return Kind(type: type, priority: priority) }
    let inferred = PushType.inferred(from: payload)
    return Kind(type: inferred, priority: try Self.priority(priority, of: inferred))
  }

  static func topic(
    _ text: UnsafePointer<CChar>?, reject: apns_reject_t = APNS_REJECT_INVALID_TOPIC_SIZE
  ) throws(Failure) -> UnsafeRawBufferPointer {
    try Self.text(
      text, "topic", maximum: Self.topicMax, lowest: 0x21, reject: reject, cause: APNS_CAUSE_TOPIC)
  }

  @inline(__always)
  private static func identifier(_ text: UnsafePointer<CChar>?) throws(Failure) -> MessageID {
    guard let text, text.pointee != 0 else { return .none }
    guard let read = MessageID(text) else { throw refusal("apns_id is not a UUID") }
    return read
  }

  @inline(__always)
  private static func isEmpty(_ text: UnsafePointer<CChar>?) -> Bool {
    guard let text else { return true }
    return text.pointee == 0
  }

  /// How many bytes the payload of such a notification may have. `isFor` is as above.
  static func maxPayload(
    _ given: UnsafePointer<apns_notification_t>, isFor: PushType?
  ) -> Int {
    if given.namesChannel { return Int(APNS_PAYLOAD_MAX_BROADCAST) }
    var named = isFor
    if let topic = given.pointee.topic, topic.pointee != 0 {
      named = .named(in: UnsafeRawBufferPointer(start: topic, count: strlen(topic)))
    }
    let type = given.pointee.push_type == 0 ? named : PushType(rawValue: given.pointee.push_type)
    return type?.payloadMax ?? Int(APNS_PAYLOAD_MAX_HTTP2)
  }

  /// The type of the notification, or of its topic; nil if it depends on the payload.
  @inline(__always)
  private static func type(_ given: UInt8, or named: PushType?) throws(Failure) -> PushType? {
    if given == 0 { return named }
    guard let type = PushType(rawValue: given) else {
      throw refusal("push_type is ", Int(given), ", not an apns_push_type_t")
    }
    return type
  }

  @inline(__always)
  private static func missingSuffix(
    of topic: UnsafeRawBufferPointer, for type: PushType
  ) -> UnsafeRawBufferPointer {
    guard type.rawValue > PushType.background.rawValue, topic.count > 0, !type.fits(topic) else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    // The name of an app may end in `.voip`, and none in `.push-type.widgets`.
    switch PushType.named(in: topic) {
    case .liveactivity, .widgets, .controls: return UnsafeRawBufferPointer(start: nil, count: 0)
    default: return type.topicSuffix
    }
  }

  /// Refuses a topic that does not fit the push type, and a payload that a device ignores with it.
  @inline(never)
  func check(_ traits: PayloadTraits) throws(Failure) {
    if let named, named != type {
      let words: StaticString =
        PushType.named(in: topic) != named
        ? "the certificate is for " : named == .mdm ? "the topic is for " : "the topic ends in "
      let isSuffix = named != .mdm && topic.count > 0 && named.fits(topic)
      throw mismatch(named, words, isSuffix ? named.topicSuffix : named.text)
    }
    // A broadcast has the bundle id in its path.
    if topic.count > 0, topicSuffix.count == 0, purpose == .device, !type.fits(topic) {
      throw mismatch(type, "the topic does not end in ", type.topicSuffix)
    }
    // `{}` informs a Wallet pass of a change.
    if !traits.hasAps, !traits.hasMDM, !traits.isEmpty, type.needsAps, purpose == .device {
      throw mismatch(nil, "the payload has no aps", UnsafeRawBufferPointer(start: nil, count: 0))
    }
    if type.suits(traits) { return }
    let words: StaticString =
      switch type {
      case .mdm: "the payload has no mdm"
      case .liveactivity: "the payload has no key of a Live Activity"
      case .widgets, .controls: "the payload has no content-changed"
      default:
        traits.isActivity
          ? "the payload is a Live Activity's"
          : "the payload's content-changed is for widgets and controls"
      }
    throw mismatch(nil, words, UnsafeRawBufferPointer(start: nil, count: 0))
  }

  @inline(never)
  private func mismatch(
    _ needed: PushType?, _ words: StaticString, _ suffix: UnsafeRawBufferPointer
  ) -> Failure {
    Failure(
      APNS_ERR_ARGUMENT, reject: APNS_REJECT_PROCESSING_ERROR,
      cause: needed == nil ? APNS_CAUSE_NONE : APNS_CAUSE_TOPIC
    ) {
      $0.append("push_type is ")
      $0.append(text: type.text)
      $0.append(", but ")
      $0.append(words)
      $0.append(text: suffix)
    }
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
      throw refusal("priority is ", Int(given), ", but a background push needs 5")
    }
    return given
  }

  @inline(__always)
  private static func text(
    _ given: UnsafePointer<CChar>?, _ name: StaticString, maximum: Int, lowest: UInt8,
    reject: apns_reject_t, cause: apns_cause_t = APNS_CAUSE_NONE
  ) throws(Failure) -> UnsafeRawBufferPointer {
    guard let given else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return try checked(given, name, maximum: maximum, lowest: lowest, reject: reject, cause: cause)
  }

  /// Checks the text of a header. A control character could end the header or begin another one.
  @_optimize(speed) @inline(never)
  private static func checked(
    _ given: UnsafePointer<CChar>, _ name: StaticString, maximum: Int, lowest: UInt8,
    reject: apns_reject_t, cause: apns_cause_t
  ) throws(Failure) -> UnsafeRawBufferPointer {
    var count = 0
    while given[count] != 0 {
      let byte = UInt8(bitPattern: given[count])
      // A header's text never begins or ends with a space (RFC 9110, 5.5).
      guard byte >= lowest, byte != 0x7F, byte != 0x20 || count > 0 && given[count &+ 1] != 0
      else {
        throw Failure(APNS_ERR_ARGUMENT, reject: reject, cause: cause) {
          $0.append(name)
          $0.append(" cannot have character 0x")
          $0.append(hex: byte)
          $0.append(" at ")
          $0.append(count)
        }
      }
      count &+= 1
      if count > maximum {
        throw Failure(APNS_ERR_ARGUMENT, reject: reject, cause: cause) {
          $0.append(name)
          $0.append(" has more than ")
          $0.append(maximum)
          $0.append(" bytes")
        }
      }
    }
    return UnsafeRawBufferPointer(start: given, count: count)
  }

  @inline(never)
  private static func refusal(_ text: StaticString) -> Failure {
    Failure(APNS_ERR_ARGUMENT, text, reject: APNS_REJECT_PROCESSING_ERROR)
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

/// The bytes of an `apns-id`, as words, which are cheap to copy.
struct MessageID {
  private let words: (UInt64, UInt64)

  static var none: MessageID { MessageID((0, 0)) }

  private init(_ words: (UInt64, UInt64)) { self.words = words }

  /// Nil if the text is not 8-4-4-4-12 hex digits, in either case.
  @inline(never)
  init?(_ text: UnsafePointer<CChar>) {
    let count = strnlen(text, UUIDText.count &+ 1)
    guard let bytes = UUIDText.bytes(UnsafeRawBufferPointer(start: text, count: count)) else {
      return nil
    }
    words = unsafeBitCast(bytes, to: (UInt64, UInt64).self)
  }

  var bytes: InlineArray<16, UInt8> { unsafeBitCast(words, to: InlineArray<16, UInt8>.self) }
}
