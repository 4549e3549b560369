/// A notification's request as the outbox stores it: a head with the lengths, followed by
/// the device token, the texts that become header fields, and the payload. It is written
/// once and read each time it is sent.
struct StoredRequest {
  private let base: UnsafeRawPointer

  init(_ base: UnsafeRawPointer) { self.base = base }

  private struct Head {
    var payload: UInt16
    var token: UInt16
    var topic: UInt16
    var collapse: UInt8
    var expiry: UInt8
    var type: UInt8
    var priority: UInt8
  }

  private static var headSize: Int { MemoryLayout<Head>.size }

  static func size(of push: HTTP2Request) -> Int {
    headSize &+ push.token.count &+ push.topic.count &+ push.collapse.count
      &+ digits(push.expiry) &+ push.payload.count
  }

  private static func digits(_ number: Int64?) -> Int {
    guard var left = number else { return 0 }
    var count = 1
    while left >= 10 {
      left /= 10
      count &+= 1
    }
    return count
  }

  /// Writes the request, which has been checked, to `target`. There is room for its size.
  static func write(_ push: HTTP2Request, to target: UnsafeMutableRawPointer) {
    let expiryCount = digits(push.expiry)
    target.storeBytes(
      of: Head(
        payload: UInt16(truncatingIfNeeded: push.payload.count),
        token: UInt16(truncatingIfNeeded: push.token.count),
        topic: UInt16(truncatingIfNeeded: push.topic.count),
        collapse: UInt8(truncatingIfNeeded: push.collapse.count),
        expiry: UInt8(truncatingIfNeeded: expiryCount), type: push.type.rawValue,
        priority: push.priority),
      as: Head.self)
    var next = put(push.token, target + headSize)
    next = put(push.topic, next)
    next = put(push.collapse, next)
    var left = push.expiry ?? 0
    for place in stride(from: expiryCount &- 1, through: 0, by: -1) {
      (next + place).storeBytes(of: 0x30 &+ UInt8(truncatingIfNeeded: left % 10), as: UInt8.self)
      left /= 10
    }
    _ = put(push.payload, next + expiryCount)
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
  var token: UnsafeRawBufferPointer { part(0, Int(head.token)) }
  var topic: UnsafeRawBufferPointer { part(Int(head.token), Int(head.topic)) }
  var collapse: UnsafeRawBufferPointer {
    part(Int(head.token) &+ Int(head.topic), Int(head.collapse))
  }
  var expiry: UnsafeRawBufferPointer {
    part(Int(head.token) &+ Int(head.topic) &+ Int(head.collapse), Int(head.expiry))
  }
  /// The UNIX second after which the notification has expired; nil if none is given or if
  /// APNs is to try only once.
  var deadline: Int64? {
    var seconds: Int64 = 0
    for digit in expiry { seconds = seconds &* 10 &+ Int64(digit &- 0x30) }
    return seconds == 0 ? nil : seconds
  }
  var payload: UnsafeRawBufferPointer {
    part(
      Int(head.token) &+ Int(head.topic) &+ Int(head.collapse) &+ Int(head.expiry),
      Int(head.payload))
  }
  var type: PushType { PushType(rawValue: head.type) ?? .alert }
  var priority: UInt8 { head.priority }
}
