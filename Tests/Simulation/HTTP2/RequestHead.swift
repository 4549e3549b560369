import CSystem

/// A request's header fields, as the service reads them.
struct RequestHead {
  /// It goes to a channel, whose text is a token's in hex.
  private(set) var isBroadcast = false
  /// The number in the path's device token; nil until one can be read.
  private(set) var device: Int?
  private(set) var tokenLength = 0
  private(set) var isTokenWhole = false
  private(set) var isPost = false
  private(set) var isSecure = false
  private(set) var hasAuthority = false
  private(set) var hasTopic = false
  /// The session's topic has the suffix of this type; 0: it has no suffix.
  private(set) var topicType: UInt8 = 0
  private(set) var hasCollapse = false
  private(set) var expiry: Int64?
  private(set) var priority: UInt8 = 0
  private(set) var type: UInt8 = 0
  private(set) var generation: UInt32?
  /// The number in the apns-id, and whether the caller made it.
  private(set) var identifier: (number: Int, isOwn: Bool)?
  /// There is a field that no request should have.
  private(set) var stranger = false

  mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    if Self.same(name, ":path") {
      takePath(value)
    } else if Self.same(name, ":method") {
      isPost = Self.same(value, "POST")
    } else if Self.same(name, ":scheme") {
      isSecure = Self.same(value, "https")
    } else if Self.same(name, ":authority") {
      hasAuthority = Self.same(value, "api.push.apple.com")
    } else if Self.same(name, "authorization") {
      generation = BearerText.generation(value)
    } else if Self.same(name, "apns-topic") {
      hasTopic = Self.same(value, "com.example.other")
      if isBroadcast { stranger = true }
      if !hasTopic { takeSessionTopic(value) }
    } else if Self.same(name, "apns-push-type") {
      for known in UInt8(1)...11 where Self.same(value, PushType(rawValue: known)!.text) {
        type = known
      }
    } else if Self.same(name, "apns-priority") {
      priority = UInt8(Self.number(value))
    } else if Self.same(name, "apns-expiration") {
      expiry = Int64(Self.number(value))
    } else if Self.same(name, "apns-collapse-id") {
      hasCollapse = Self.same(value, "collapse 1")
    } else if Self.same(name, "apns-channel-id"), isBroadcast {
      takeToken(value)
    } else if Self.same(name, isBroadcast ? "apns-request-id" : "apns-id") {
      identifier = HTTP2Identifier.read(value)
    } else {
      stranger = true
    }
  }

  private mutating func takeSessionTopic(_ value: UnsafeRawBufferPointer) {
    let app: StaticString = "com.example.app"
    if Self.same(value, app) { return }
    guard value.count > app.utf8CodeUnitCount,
      memcmp(value.baseAddress!, app.utf8Start, app.utf8CodeUnitCount) == 0
    else {
      stranger = true
      return
    }
    let rest = UnsafeRawBufferPointer(rebasing: value[app.utf8CodeUnitCount...])
    for known in UInt8(1)...11 where Self.suffix(of: known) == rest.map({ $0 }) {
      topicType = known
    }
    if topicType == 0 { stranger = true }
  }

  /// The end of a topic of this push type.
  static func suffix(of type: UInt8) -> [UInt8] {
    let suffix = PushType(rawValue: type)?.topicSuffix
    return suffix.map { Array($0) } ?? []
  }

  private mutating func takePath(_ value: UnsafeRawBufferPointer) {
    if Self.same(value, "/4/broadcasts/apps/com.example.app") {
      isBroadcast = true
    } else if Self.same(value, "/4/broadcasts/apps/com.example.other") {
      (isBroadcast, hasTopic) = (true, true)
    }
    let prefix: StaticString = "/3/device/"
    let start = prefix.utf8CodeUnitCount
    guard value.count > start + 8, memcmp(value.baseAddress!, prefix.utf8Start, start) == 0
    else { return }
    takeToken(UnsafeRawBufferPointer(rebasing: value[start...]))
  }

  private mutating func takeToken(_ value: UnsafeRawBufferPointer) {
    guard value.count > 8, value.count & 1 == 0 else { return }
    tokenLength = value.count / 2
    withUnsafeTemporaryAllocation(byteCount: tokenLength, alignment: 1) { token in
      for index in token.indices {
        let high = Self.digit(value[2 * index])
        token[index] = high << 4 | Self.digit(value[2 * index + 1])
      }
      let read = UnsafeRawBufferPointer(token)
      device = Token.number(read)
      isTokenWhole = device.map { Token.isWhole($0, read) } ?? false
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8 { byte > 0x39 ? byte - 0x57 : byte - 0x30 }

  private static func number(_ text: UnsafeRawBufferPointer) -> Int {
    text.reduce(0) { $0 &* 10 &+ Int($1 &- 0x30) }
  }

  private static func same(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    bytes.count == text.utf8CodeUnitCount
      && memcmp(bytes.baseAddress!, text.utf8Start, bytes.count) == 0
  }

  private static func same(_ bytes: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> Bool
  {
    bytes.count == text.count && memcmp(bytes.baseAddress!, text.baseAddress!, bytes.count) == 0
  }
}

/// UUIDs that name their owner: a notification's own, or the UUID in a response of the service.
enum HTTP2Identifier {
  static let count = 36
  private static let own: StaticString = "0b5c0de0-0001-4000-8000-000000000000"

  static func write(_ number: Int, isOwn: Bool, to target: UnsafeMutablePointer<UInt8>) {
    memcpy(target, own.utf8Start, count)
    if !isOwn { target[12] = 0x32 }
    var left = number
    for place in stride(from: count - 1, to: 23, by: -1) {
      target[place] = 0x30 + UInt8(left % 10)
      left /= 10
    }
  }

  static func read(_ text: UnsafeRawBufferPointer) -> (number: Int, isOwn: Bool)? {
    guard text.count == count, memcmp(text.baseAddress!, own.utf8Start, 12) == 0 else { return nil }
    return (text[24...].reduce(0) { $0 &* 10 &+ Int($1 &- 0x30) }, text[12] == 0x31)
  }
}
