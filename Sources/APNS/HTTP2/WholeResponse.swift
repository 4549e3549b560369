import CSystem

/// A response that is kept whole, for requests that come one at a time: its body, and the channel
/// in its fields. Responses to notifications need neither.
struct WholeResponse {
  /// More than the list of an app's 10,000 channels takes.
  static var maximum: Int { 4 << 20 }
  static var maxChannel: Int { 256 }

  private let channel: UnsafeMutablePointer<UInt8>
  private(set) var channelCount = 0
  private var body: UnsafeMutableRawPointer?
  private var capacity = 0
  private var count = 0
  /// The body, or the channel, is longer than is kept.
  private(set) var isTooLong = false
  /// The body could not be allocated.
  private(set) var ranOut = false
  /// The request is sent once only: it may have been carried out although no response came.
  private(set) var isOnce = false

  private init(_ channel: UnsafeMutablePointer<UInt8>) { self.channel = channel }

  /// Stays at one address until it is ended; nil if out of memory.
  static func make() -> UnsafeMutablePointer<WholeResponse>? {
    let size = MemoryLayout<WholeResponse>.stride
    guard let memory = malloc(size &+ maxChannel) else { return nil }
    let response = memory.bindMemory(to: WholeResponse.self, capacity: 1)
    response.initialize(
      to: WholeResponse((memory + size).bindMemory(to: UInt8.self, capacity: maxChannel)))
    return response
  }

  static func end(_ response: UnsafeMutablePointer<WholeResponse>) {
    free(response.pointee.body)
    free(response)
  }

  /// Forgets the response to the last request, and its memory if that was large.
  mutating func begin(isOnce: Bool) {
    clear()
    self.isOnce = isOnce
    guard capacity > 64 << 10 else { return }
    free(body)
    (body, capacity) = (nil, 0)
  }

  /// The request is resent.
  mutating func clear() {
    (channelCount, count) = (0, 0)
    (isTooLong, ranOut) = (false, false)
  }

  /// More of it is not needed.
  var isSpoilt: Bool { isTooLong || ranOut }

  mutating func take(channel text: UnsafeRawBufferPointer) {
    guard text.count < Self.maxChannel, let base = text.baseAddress else {
      isTooLong = isTooLong || text.count > 0
      return
    }
    memcpy(channel, base, text.count)
    channelCount = text.count
  }

  mutating func take(body more: UnsafeRawBufferPointer) {
    guard !isSpoilt, more.count > 0, let base = more.baseAddress else { return }
    guard more.count <= Self.maximum &- count else {
      isTooLong = true
      return
    }
    if count &+ more.count > capacity {
      let wanted = min(max(count &+ more.count, capacity &* 2, 4096), Self.maximum)
      guard let grown = realloc(body, wanted) else {
        ranOut = true
        return
      }
      (body, capacity) = (grown, wanted)
    }
    guard let body else { return }
    memcpy(body + count, base, more.count)
    count &+= more.count
  }

  var bodyBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: body, count: count) }
  var channelBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: channel, count: channelCount)
  }
}
