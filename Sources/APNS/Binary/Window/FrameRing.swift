import CSystem

/// A ring buffer for frames of any size. Each frame is in one piece, and frames are freed
/// in the order in which they came.
///
/// The live bytes lie in one stretch `tail..<head` or, once the ring has wrapped, in two:
/// `tail..<turn` and then `0..<head`, with `head` strictly below `tail`.
struct FrameRing: ~Copyable {
  private let base: UnsafeMutableRawPointer
  let size: Int
  private var head = 0
  private var tail = 0
  private var turn = 0
  private var hasTurned = false
  /// The next byte to write to the connection.
  private var cursor = 0
  /// Bytes that are queued and not written yet.
  private(set) var unwritten = 0

  /// The window lends the memory and outlives the ring.
  init(_ base: UnsafeMutableRawPointer, size: Int) {
    self.base = base
    self.size = size
  }

  /// Where the next `count` bytes go; nil if they do not fit together with `reserve` more after them.
  @inline(__always)
  func place(for count: Int, reserve: Int) -> Int? {
    let need = count &+ reserve
    if hasTurned { return tail &- head > need ? head : nil }
    if size &- head >= need { return head }
    // Wraps to the start and leaves the rest of the memory unused.
    return tail > need ? 0 : nil
  }

  @inline(__always)
  func address(_ place: Int) -> UnsafeMutableRawPointer { base + place }

  /// Queues the bytes that were put at `place`.
  @inline(__always)
  mutating func commit(_ place: Int, _ count: Int) {
    if place != head {
      turn = head
      hasTurned = true
      // A cursor that has written everything wraps together with the head.
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

  /// How many live bytes lie before `place`, which is the head or the start of a frame.
  func rank(_ place: Int) -> Int {
    hasTurned && place < tail ? turn &- tail &+ place : place &- tail
  }

  /// Bytes that are not freed yet.
  var live: Int { rank(head) }

  /// How many live bytes have been written.
  var written: Int { live &- unwritten }

  /// Moves the cursor back or forward: the next write begins at `place`.
  mutating func rewind(to place: Int) {
    unwritten = rank(head) &- rank(place)
    cursor = place
  }

  /// Takes out an unwritten frame. Later ones in the same stretch move up.
  mutating func remove(_ place: Int, size: Int) {
    let isBeforeTurn = hasTurned && place >= tail
    let stretchEnd = isBeforeTurn ? turn : head
    let rest = stretchEnd &- place &- size
    guard size > 0, rest >= 0 else { return }
    memmove(base + place, base + (place &+ size), rest)
    if isBeforeTurn { turn &-= size } else { head &-= size }
    unwritten &-= size
    if hasTurned, cursor == turn, cursor >= tail { cursor = 0 }
  }

  /// Whether removing the frame at `removed` moves the one at `place`.
  func follows(_ place: Int, _ removed: Int) -> Bool {
    place > removed && (!hasTurned || (place >= tail) == (removed >= tail))
  }

  /// Frees everything before `place`. Unwritten bytes among it are not written any more.
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
