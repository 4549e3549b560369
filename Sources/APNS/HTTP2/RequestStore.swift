import CSystem

/// Memory for requests of any size, each in one piece, in the order in which they came.
///
/// A request that ends before older ones leaves a gap. Gaps are closed when room is short,
/// so a request that stays costs only its own bytes. The bytes lie in one stretch
/// `tail..<head` or, once the store has wrapped, in two: `tail..<turn` and then `0..<head`,
/// with `head` strictly below `tail`.
struct RequestStore {
  private let base: UnsafeMutableRawPointer
  let size: Int
  private var head = 0
  private var tail = 0
  private var turn = 0
  private var hasTurned = false
  /// Bytes of the stored requests.
  private(set) var used = 0
  /// No request has ended since the gaps were last closed.
  private var isPacked = true

  /// The outbox lends the memory and outlives the store.
  init(_ base: UnsafeMutableRawPointer, size: Int) {
    self.base = base
    self.size = size
  }

  @inline(__always)
  func address(_ place: Int) -> UnsafeMutableRawPointer { base + place }

  /// Where the next `count` bytes go; nil if they do not fit in one piece.
  @inline(__always)
  func place(for count: Int) -> Int? {
    if hasTurned { return tail &- head > count ? head : nil }
    if size &- head >= count { return head }
    return tail > count ? 0 : nil
  }

  /// Keeps the bytes that were put at `place`.
  @inline(__always)
  mutating func commit(_ place: Int, _ count: Int) {
    if place != head {
      turn = head
      hasTurned = true
    }
    head = place &+ count
    used &+= count
  }

  /// A request of `count` bytes has ended and leaves a gap.
  @inline(__always)
  mutating func release(_ count: Int) {
    used &-= count
    isPacked = false
  }

  /// The oldest stored request is at `place`, so everything before it is free.
  @inline(__always)
  mutating func begin(at place: Int) {
    if hasTurned, place < tail { hasTurned = false }
    tail = place
  }

  mutating func freeAll() {
    (head, tail, turn, used) = (0, 0, 0, 0)
    (hasTurned, isPacked) = (false, true)
  }

  // MARK: Closing gaps

  /// Whether closing gaps makes room for `count` bytes and frees at least an eighth of the
  /// memory. Because of that limit a byte is moved at most eight times for each byte taken.
  func isWorthPacking(for count: Int) -> Bool {
    !isPacked && size &- used >= max(count, size / 8)
  }

  /// Closes the gaps in one pass over the stored requests, the oldest first.
  struct Packing {
    fileprivate var cursor: Int
    fileprivate var turn = 0
    fileprivate var hasTurned = false
  }

  mutating func beginPacking() -> Packing {
    // With two stretches the first one still begins at `tail`, because the second lies before it.
    if !hasTurned { tail = 0 }
    return Packing(cursor: tail)
  }

  /// Moves the next request and returns its new place. A move never overwrites a request
  /// that has not been moved yet.
  func pack(_ packing: inout Packing, _ place: Int, _ count: Int) -> Int {
    if packing.cursor &+ count > size {
      packing.turn = packing.cursor
      packing.hasTurned = true
      packing.cursor = 0
    }
    let target = packing.cursor
    if target != place { memmove(base + target, base + place, count) }
    packing.cursor = target &+ count
    return target
  }

  mutating func endPacking(_ packing: Packing) {
    (head, turn, hasTurned) = (packing.cursor, packing.turn, packing.hasTurned)
    isPacked = true
  }
}
