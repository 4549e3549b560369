#if APNS_HTTP2
  import CAPNS
  import CSystem

  /// What a session over HTTP/2 says in every request.
  struct PushNames: ~Copyable {
    private let authorityText: UnsafeMutablePointer<CChar>
    private let topicText: UnsafeMutablePointer<CChar>?

    /// Copies the names; the port is left out where it is the usual one of https.
    static func make(_ given: apns_session_options_t) throws(Failure) -> PushNames {
      let usual: StaticString = "api.push.apple.com"
      let host =
        given.server_name ?? given.host
        ?? UnsafeRawPointer(usual.utf8Start).assumingMemoryBound(to: CChar.self)
      let length = strlen(host)
      // A colon, and a port's five digits.
      guard let text = malloc(length &+ 7)?.bindMemory(to: CChar.self, capacity: length &+ 7)
      else { throw .outOfMemory }
      memcpy(text, host, length &+ 1)
      if given.port != 0, given.port != UInt16(truncatingIfNeeded: APNS_PORT_HTTP2) {
        append(given.port, to: text + length)
      }
      guard let topic = given.topic else { return PushNames(text, nil) }
      guard let copy = strdup(topic) else {
        free(text)
        throw .outOfMemory
      }
      return PushNames(text, copy)
    }

    private init(
      _ authority: UnsafeMutablePointer<CChar>, _ topic: UnsafeMutablePointer<CChar>?
    ) {
      authorityText = authority
      topicText = topic
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
    }

    var authority: PushAuthority { PushAuthority(authority: Self.bytes(authorityText)) }

    /// What is meant where a notification names no topic.
    var topic: UnsafePointer<CChar>? { UnsafePointer(topicText) }

    private static func bytes(_ text: UnsafePointer<CChar>?) -> UnsafeRawBufferPointer {
      UnsafeRawBufferPointer(start: text, count: text.map { strlen($0) } ?? 0)
    }
  }
#endif
