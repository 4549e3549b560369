import CSystem

/// Room for frames of any size, each in one piece, freed in the order they came.
///
/// The live bytes lie in one stretch `tail..<head`, or, once it has gone round,
/// in two: `tail..<turn` and then `0..<head`, with `head` strictly below `tail`.
struct FrameRing: ~Copyable {
  private let base: UnsafeMutableRawPointer
  let size: Int
  private var head = 0
  private var tail = 0
  private var turn = 0
  private var hasTurned = false
  /// The next byte to be written to the connection.
  private var cursor = 0
  /// Bytes queued and not yet written.
  private(set) var unwritten = 0

  /// Memory lent by the window, which outlives the ring.
  init(_ base: UnsafeMutableRawPointer, size: Int) {
    self.base = base
    self.size = size
  }

  /// Where the next `count` bytes go; nil where they do not fit with `spare` more behind them.
  @inline(__always)
  func place(for count: Int, spare: Int) -> Int? {
    let need = count &+ spare
    if hasTurned { return tail &- head > need ? head : nil }
    if size &- head >= need { return head }
    // Round to the start, which leaves the rest of the stretch unused.
    return tail > need ? 0 : nil
  }

  @inline(__always)
  func address(_ place: Int) -> UnsafeMutableRawPointer { base + place }

  /// Counts the bytes that were put at `place` as queued.
  @inline(__always)
  mutating func commit(_ place: Int, _ count: Int) {
    if place != head {
      turn = head
      hasTurned = true
      // A cursor that had written all there was follows the head round.
      if cursor == turn { cursor = 0 }
    }
    head = place &+ count
    unwritten &+= count
  }

  /// The longest run of bytes that can be written in one piece.
  @inline(__always)
  var nextRun: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + cursor, count: min(unwritten, runEnd &- cursor))
  }

  @inline(__always)
  private var runEnd: Int { hasTurned && cursor >= tail ? turn : head }

  @inline(__always)
  mutating func wrote(_ count: Int) {
    cursor &+= count
    unwritten &-= count
    if hasTurned, cursor == turn, cursor >= tail { cursor = 0 }
  }

  /// How many live bytes lie before `place`, at which a frame starts or the head is.
  func rank(_ place: Int) -> Int {
    hasTurned && place < tail ? turn &- tail &+ place : place &- tail
  }

  /// Bytes that are not freed.
  var live: Int { rank(head) }

  /// How many live bytes have been written.
  var written: Int { live &- unwritten }

  /// Goes back, or on, to write from `place` next.
  mutating func rewind(to place: Int) {
    unwritten = rank(head) &- rank(place)
    cursor = place
  }

  /// Frees what lies before `place`. What is freed unwritten is not written any more.
  mutating func free(before place: Int) {
    let left = rank(head) &- rank(place)
    if hasTurned, place < tail { hasTurned = false }
    tail = place
    if left <= unwritten {
      unwritten = left
      cursor = place
    }
  }

  mutating func freeAll() {
    (head, tail, turn, cursor, unwritten) = (0, 0, 0, 0, 0)
    hasTurned = false
  }
}
