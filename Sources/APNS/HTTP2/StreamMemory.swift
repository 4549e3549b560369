import CNGHTTP2
import CSystem

/// Memory for one connection's nghttp2. nghttp2 allocates half a dozen small pieces for
/// each stream and frees them with its answer; the pieces are kept for the next stream. The
/// struct never moves, and all its memory is freed together.
struct StreamMemory {
  /// Free pieces, by size. Each begins with the address of the next.
  private var pieces = InlineArray<16, UnsafeMutableRawPointer?>(repeating: nil)
  /// The newest block, which begins with the address of the previous one. `left` bytes at
  /// `next` are unused.
  private var block: UnsafeMutableRawPointer?
  private var next: UnsafeMutableRawPointer?
  private var left = 0

  private static var shift: Int { 5 }
  private static var step: Int { 1 << shift }
  private static var kinds: UInt { 16 }
  /// Room before each piece for its kind.
  private static var head: Int { 16 }
  private static var blockSize: Int { 16 << 10 }

  /// Nil if there is no memory.
  static func make() -> UnsafeMutablePointer<StreamMemory>? {
    let memory = malloc(MemoryLayout<StreamMemory>.size)?
      .bindMemory(to: StreamMemory.self, capacity: 1)
    memory?.initialize(to: StreamMemory())
    return memory
  }

  /// Call this after nghttp2 has freed all its memory.
  static func end(_ memory: UnsafeMutablePointer<StreamMemory>) {
    while let block = memory.pointee.block {
      memory.pointee.block = block.load(as: UnsafeMutableRawPointer?.self)
      free(block)
    }
    free(memory)
  }

  static func functions(_ memory: UnsafeMutablePointer<StreamMemory>) -> nghttp2_mem {
    nghttp2_mem(
      mem_user_data: memory, malloc: takePiece, free: givePiece, calloc: takeCleared,
      realloc: resizePiece)
  }

  /// A kept piece, or a new one.
  @inline(__always)
  fileprivate mutating func take(_ size: Int) -> UnsafeMutableRawPointer? {
    // A size of 0 becomes the largest number, which `add` knows.
    let kind = (UInt(bitPattern: size) &- 1) &>> UInt(Self.shift)
    guard kind < Self.kinds, let piece = pieces[Int(kind)] else { return add(kind) }
    pieces[Int(kind)] = piece.load(as: UnsafeMutableRawPointer?.self)
    return piece
  }

  @inline(never)
  private mutating func add(_ kind: UInt) -> UnsafeMutableRawPointer? {
    if kind == UInt.max &>> UInt(Self.shift) { return take(1) }
    guard kind < 1 << 25 else { return nil }
    let whole = Self.head &+ Self.capacity(kind)
    var place: UnsafeMutableRawPointer
    if kind >= Self.kinds {
      guard let memory = malloc(whole) else { return nil }
      place = memory
    } else {
      if left < whole, !addBlock() { return nil }
      guard let unused = next else { return nil }
      place = unused
      next = unused + whole
      left &-= whole
    }
    place.storeBytes(of: kind, as: UInt.self)
    return place + Self.head
  }

  @inline(never)
  private mutating func addBlock() -> Bool {
    guard let memory = malloc(Self.blockSize) else { return false }
    memory.storeBytes(of: block, as: UnsafeMutableRawPointer?.self)
    block = memory
    next = memory + Self.head
    left = Self.blockSize &- Self.head
    return true
  }

  private static func kind(_ piece: UnsafeMutableRawPointer) -> UInt {
    (piece - head).load(as: UInt.self)
  }

  private static func capacity(_ kind: UInt) -> Int {
    Int(truncatingIfNeeded: kind &+ 1) &* step
  }

  fileprivate static func capacity(of piece: UnsafeMutableRawPointer) -> Int {
    capacity(kind(piece))
  }

  @inline(__always)
  fileprivate mutating func give(_ piece: UnsafeMutableRawPointer) {
    let kind = Self.kind(piece)
    guard kind < Self.kinds else { return free(piece - Self.head) }
    piece.storeBytes(of: pieces[Int(kind)], as: UnsafeMutableRawPointer?.self)
    pieces[Int(kind)] = piece
  }
}

// MARK: Functions for nghttp2

private func memory(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<StreamMemory>? {
  context?.assumingMemoryBound(to: StreamMemory.self)
}

@inline(never)
private func takePiece(
  _ size: Int, _ context: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  memory(context)?.pointee.take(size)
}

@inline(never)
private func givePiece(_ piece: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) {
  if let piece { memory(context)?.pointee.give(piece) }
}

private func takeCleared(
  _ count: Int, _ size: Int, _ context: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  let (whole, overflow) = count.multipliedReportingOverflow(by: size)
  guard !overflow, let piece = takePiece(whole, context) else { return nil }
  memset(piece, 0, whole)
  return piece
}

private func resizePiece(
  _ piece: UnsafeMutableRawPointer?, _ size: Int, _ context: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  guard let piece else { return takePiece(size, context) }
  let capacity = StreamMemory.capacity(of: piece)
  if size >= 0, size <= capacity { return piece }
  guard let larger = takePiece(size, context) else { return nil }
  memcpy(larger, piece, capacity)
  givePiece(piece, context)
  return larger
}
