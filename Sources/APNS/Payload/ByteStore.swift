import CSystem

/// A growing run of bytes. It keeps its memory when emptied, so it need not allocate again.
struct ByteStore: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer?
  private var capacity = 0
  var count = 0

  /// No payload needs more, and 32-bit offsets cannot reach further.
  private static let largest = 1 << 30

  /// Where to write the next `more` bytes. They are not counted yet.
  @inline(__always)
  mutating func room(for more: Int) throws(PayloadFault) -> UnsafeMutableRawPointer {
    if let base, more <= capacity &- count { return base + count }
    return try grow(by: more)
  }

  @inline(never)
  private mutating func grow(by more: Int) throws(PayloadFault) -> UnsafeMutableRawPointer {
    guard more <= Self.largest &- count else { throw PayloadFault(.tooLarge) }
    var wanted = max(capacity, 256)
    while wanted &- count < more { wanted &*= 2 }
    guard let grown = realloc(base, wanted) else { throw PayloadFault(.memory) }
    base = grown
    capacity = wanted
    return grown + count
  }

  deinit { free(base) }
}
