import CSystem

/// Bytes that grow. What it once had room for it keeps, so that it need not ask again.
struct ByteStore: ~Copyable {
  private(set) var base: UnsafeMutableRawPointer?
  private var capacity = 0
  var count = 0

  /// What a payload has no use for, and offsets of 32 bits have no room for.
  private static let largest = 1 << 30

  /// Where the next `more` bytes go, which are not counted yet.
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
