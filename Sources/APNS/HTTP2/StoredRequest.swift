/// A notification's request as the outbox stores it: a head with the lengths, followed by
/// the device token or the channel, the texts that become header fields, and the payload. It is
/// written once and read each time it is sent.
struct StoredRequest {
  private let base: UnsafeRawPointer

  init(_ base: UnsafeRawPointer) { self.base = base }

  private struct Head {
    var payload: UInt16
    var token: UInt16
    var topic: UInt16
    var collapse: UInt8
    var expiry: UInt8
    var type: PushType
    var priority: UInt8
    var purpose: RequestPurpose
  }

  private static var headSize: Int { MemoryLayout<Head>.size }

  static func size(of push: HTTP2Request, payloadCount: Int) -> Int {
    headSize &+ push.token.count &+ push.topic.count &+ push.topicSuffix.count
      &+ push.collapse.count &+ digits(push.expiry) &+ payloadCount
  }

  /// The offset of the payload in a request of that size.
  static func payloadOffset(_ size: Int, payloadCount: Int) -> Int { size &- payloadCount }

  private static func digits(_ number: Int64?) -> Int {
    guard var left = number else { return 0 }
    var count = 1
    while left >= 10 {
      left /= 10
      count &+= 1
    }
    return count
  }

  /// Writes the request, which has been checked, to `target`. There is room for its size. A payload
  /// that is already in its place is left there.
  static func write(
    _ push: HTTP2Request, _ kind: HTTP2Request.Kind, payload: UnsafeRawBufferPointer,
    to target: UnsafeMutableRawPointer
  ) {
    let expiryCount = digits(push.expiry)
    target.storeBytes(
      of: Head(
        payload: UInt16(truncatingIfNeeded: payload.count),
        token: UInt16(truncatingIfNeeded: push.token.count),
        topic: UInt16(truncatingIfNeeded: push.topic.count &+ push.topicSuffix.count),
        collapse: UInt8(truncatingIfNeeded: push.collapse.count),
        expiry: UInt8(truncatingIfNeeded: expiryCount),
        type: kind.type, priority: kind.priority, purpose: push.purpose),
      as: Head.self)
    var next = put(push.token, target + headSize)
    next = put(push.topicSuffix, put(push.topic, next))
    next = put(push.collapse, next)
    var left = push.expiry ?? 0
    for place in stride(from: expiryCount &- 1, through: 0, by: -1) {
      (next + place).storeBytes(of: 0x30 &+ UInt8(truncatingIfNeeded: left % 10), as: UInt8.self)
      left /= 10
    }
    next += expiryCount
    if payload.baseAddress != UnsafeRawPointer(next) { _ = put(payload, next) }
  }

  private static func put(
    _ bytes: UnsafeRawBufferPointer, _ target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if let base = bytes.baseAddress, bytes.count > 0 {
      target.copyMemory(from: base, byteCount: bytes.count)
    }
    return target + bytes.count
  }

  // MARK: Reading

  private var head: Head { base.loadUnaligned(as: Head.self) }

  private func part(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + Self.headSize + offset, count: count)
  }

  var size: Int {
    let head = head
    return Self.headSize &+ Int(head.token) &+ Int(head.topic) &+ Int(head.collapse)
      &+ Int(head.expiry) &+ Int(head.payload)
  }
  /// The request's address: a device token, or the text of a channel.
  var token: UnsafeRawBufferPointer { part(0, Int(head.token)) }
  var topic: UnsafeRawBufferPointer { part(Int(head.token), Int(head.topic)) }
  var collapse: UnsafeRawBufferPointer {
    part(Int(head.token) &+ Int(head.topic), Int(head.collapse))
  }
  var expiry: UnsafeRawBufferPointer {
    part(Int(head.token) &+ Int(head.topic) &+ Int(head.collapse), Int(head.expiry))
  }
  /// After this time the notification has expired; nil if none is given or if APNs is to try only
  /// once.
  var expiresAt: UNIXSeconds? {
    var seconds: UNIXSeconds = 0
    for digit in expiry { seconds = seconds &* 10 &+ Int64(digit &- 0x30) }
    return seconds == 0 ? nil : seconds
  }
  var payload: UnsafeRawBufferPointer {
    part(
      Int(head.token) &+ Int(head.topic) &+ Int(head.collapse) &+ Int(head.expiry),
      Int(head.payload))
  }
  var type: PushType { head.type }
  var purpose: RequestPurpose { head.purpose }
  var priority: UInt8 { head.priority }
}
