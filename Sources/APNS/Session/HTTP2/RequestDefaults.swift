import CAPNS
import CSystem

/// Defaults of a session's requests: the authority, and the topic of notifications without one.
struct RequestDefaults: ~Copyable {
  private let authorityText: UnsafeMutablePointer<CChar>
  private let authorityCount: Int
  private let topicText: UnsafeMutablePointer<CChar>?
  let topicCount: Int
  /// The certificate's app, for broadcasts without a topic. APNs derives it for the others.
  private var certificateText: UnsafeMutablePointer<CChar>?
  /// The default push type of notifications without push type and topic; nil: by their payload.
  private(set) var pushType: PushType?

  /// Copies the names. Omits the port if it is the usual one of https.
  static func make(
    _ given: apns_session_options_t, to host: UnsafePointer<CChar>
  ) throws(Failure) -> RequestDefaults {
    let topicCount = try HTTP2Request.topic(given.topic, reject: APNS_REJECT_NONE).count
    if given.topic != nil, topicCount == 0 {
      throw Failure(APNS_ERR_ARGUMENT, "topic is empty", cause: APNS_CAUSE_TOPIC)
    }
    let host = given.peer.server_name ?? host
    var length = strlen(host)
    // Brackets, a colon, and a port's five digits.
    guard let text = malloc(length &+ 9)?.bindMemory(to: CChar.self, capacity: length &+ 9)
    else { throw .outOfMemory }
    if strchr(host, 0x3A) == nil {
      memcpy(text, host, length)
    } else {
      // An IPv6 address (RFC 3986, 3.2.2), without the zone, which means nothing to others.
      length = strcspn(host, "%")
      text[0] = 0x5B
      memcpy(text + 1, host, length)
      text[length &+ 1] = 0x5D
      length &+= 2
    }
    text[length] = 0
    if given.peer.port != 0, given.peer.port != UInt16(truncatingIfNeeded: APNS_PORT_HTTP2) {
      append(given.peer.port, to: text + length)
    }
    guard let topic = given.topic else { return RequestDefaults(text, nil, 0) }
    guard let copy = strdup(topic) else {
      free(text)
      throw .outOfMemory
    }
    return RequestDefaults(text, copy, topicCount)
  }

  private init(
    _ authority: UnsafeMutablePointer<CChar>, _ topic: UnsafeMutablePointer<CChar>?,
    _ topicCount: Int
  ) {
    authorityText = authority
    authorityCount = strlen(authority)
    topicText = topic
    self.topicCount = topicCount
    pushType =
      topic.flatMap { PushType.named(in: UnsafeRawBufferPointer(start: $0, count: topicCount)) }
  }

  private static func append(_ port: UInt16, to text: UnsafeMutablePointer<CChar>) {
    text[0] = 0x3A
    var divisor: UInt16 = 10_000
    while port / divisor == 0 { divisor /= 10 }
    var count = 1
    while divisor > 0 {
      text[count] = 0x30 &+ CChar(truncatingIfNeeded: port / divisor % 10)
      count &+= 1
      divisor /= 10
    }
    text[count] = 0
  }

  deinit {
    free(authorityText)
    free(topicText)
    free(certificateText)
  }

  var certificateTopic: UnsafePointer<CChar>? { UnsafePointer(certificateText) }

  /// Copies the certificate's topic, if it has one. Without memory broadcasts have to name it.
  mutating func use(_ certificate: ProviderTopics) {
    free(certificateText)
    certificateText = certificate.first.flatMap { strdup($0) }
    if let topicText {
      let topic = UnsafeRawBufferPointer(start: topicText, count: topicCount)
      pushType =
        (certificate.isApp(topic) ? nil : PushType.named(in: topic)) ?? certificate.pushType
    } else {
      pushType = certificate.pushType
    }
  }

  var authority: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: authorityText, count: authorityCount)
  }

  /// The topic of notifications that name none.
  var topic: UnsafePointer<CChar>? { UnsafePointer(topicText) }
}
