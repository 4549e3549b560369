import CHiredis

/// Parses a connection's bytes into replies. The peer may not be Redis, so no reply may use more
/// memory than a relay's queue can need.
final class RedisReplyReader {
  /// The maximum size of a Redis string, and so of a reply.
  static let mostBytes = 512 << 20
  /// The limit before the peer has proved to be the right one, while replies are short.
  static let mostBytesOfStranger = 1 << 20
  /// The elements of all lists in a reply. hiredis allocates as many as are announced.
  private static let mostElements = 1 << 22

  var limit = mostBytesOfStranger
  private let reader: UnsafeMutablePointer<redisReader>
  private let elements: UnsafeMutablePointer<Int>
  private var bytes = 0

  init() throws(RelayFault) {
    guard let reader = redisReaderCreate() else {
      throw RelayFault("out of memory")
    }
    self.reader = reader
    elements = .allocate(capacity: 1)
    elements.initialize(to: 0)
    reader.pointee.privdata = UnsafeMutableRawPointer(elements)
    reader.pointee.fn = Self.functions
  }

  deinit {
    redisReaderFree(reader)
    elements.deallocate()
  }

  /// hiredis's functions with a limit. Created once, and never freed.
  nonisolated(unsafe) private static let functions = {
    let functions = UnsafeMutablePointer<redisReplyObjectFunctions>.allocate(capacity: 1)
    functions.initialize(to: original)
    functions.pointee.createArray = { task, count in
      guard let task, let elements = task.pointee.privdata?.assumingMemoryBound(to: Int.self)
      else { return nil }
      guard count >= 0, Int(count) <= mostElements - elements.pointee else {
        elements.pointee = .max
        return nil
      }
      elements.pointee += Int(count)
      return original.createArray(task, count)
    }
    return functions
  }()

  private static let original = {
    let reader = redisReaderCreate()
    defer { redisReaderFree(reader) }
    return reader?.pointee.fn?.pointee ?? redisReplyObjectFunctions()
  }()

  func feed(_ room: UnsafeRawBufferPointer) throws(RelayFault) {
    bytes += room.count
    guard bytes <= limit else {
      throw RelayFault("it is longer than \(limit) bytes")
    }
    guard
      redisReaderFeed(reader, room.baseAddress?.assumingMemoryBound(to: CChar.self), room.count)
        == REDIS_OK
    else { throw fault() }
  }

  /// nil if it is incomplete.
  func next() throws(RelayFault) -> RedisReply? {
    var reply: UnsafeMutableRawPointer?
    guard redisReaderGetReply(reader, &reply) == REDIS_OK else { throw fault() }
    guard let reply else { return nil }
    defer { freeReplyObject(reply) }
    elements.pointee = 0
    // The remaining bytes belong to the next reply.
    bytes = reader.pointee.len - reader.pointee.pos
    return RedisReply(UnsafePointer(reply.assumingMemoryBound(to: redisReply.self)))
  }

  private func fault() -> RelayFault {
    if elements.pointee > Self.mostElements {
      return RelayFault("it has more than \(Self.mostElements) elements")
    }
    let reason = withUnsafeBytes(of: reader.pointee.errstr) { raw in
      String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
    }
    return RelayFault(reason)
  }
}
