import NIOCore

/// Sizes a connection's reads: they grow with the incoming data, and no buffer is kept between
/// reads, so that an idle connection uses little memory. NIO's allocators keep their largest
/// buffer.
struct ReadingRoom: RecvByteBufferAllocator {
  /// The most bytes that are read from a socket and not queued yet.
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
    // Always claims that the next buffer must be larger, so that NIO never reuses or keeps the last
    // one.
    return true
  }
}
