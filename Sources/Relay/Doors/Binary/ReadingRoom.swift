import NIOCore

/// How much a connection reads at once: it grows with what comes, and no buffer is kept for the next
/// read, so that an idle connection has none. NIO's own keep their largest ones.
struct ReadingRoom: RecvByteBufferAllocator {
  /// What may be taken off a socket and is not in the queue yet.
  static let most = 256 << 10
  private static let least = 1 << 8

  private var room = least

  func buffer(allocator: ByteBufferAllocator) -> ByteBuffer { allocator.buffer(capacity: room) }

  mutating func record(actualReadBytes count: Int) -> Bool {
    if count >= room {
      room = min(room * 4, Self.most)
    } else if count <= room / 8 {
      room = max(room / 4, Self.least)
    }
    // As if the next one were larger each time: then the last one is not used again, nor kept.
    return true
  }
}
