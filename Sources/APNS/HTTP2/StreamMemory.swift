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
  private static var largest: Int { 16 &* step }
  /// Room before each piece for its size.
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

  @_optimize(speed)
  fileprivate mutating func take(_ size: Int) -> UnsafeMutableRawPointer? {
    guard size >= 0, size < 1 << 30 else { return nil }
    let capacity = (max(size, 1) &+ Self.step &- 1) & ~(Self.step &- 1)
    var place: UnsafeMutableRawPointer
    if capacity > Self.largest {
      guard let memory = malloc(Self.head &+ capacity) else { return nil }
      place = memory
    } else {
      let kind = capacity &>> Self.shift &- 1
      if let piece = pieces[kind] {
        pieces[kind] = piece.load(as: UnsafeMutableRawPointer?.self)
        return piece
      }
      let whole = Self.head &+ capacity
      if left < whole, !addBlock() { return nil }
      guard let unused = next else { return nil }
      place = unused
      next = unused + whole
      left &-= whole
    }
    place.storeBytes(of: capacity, as: Int.self)
    place += Self.head
    return place
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

  fileprivate static func capacity(_ piece: UnsafeMutableRawPointer) -> Int {
    (piece - head).load(as: Int.self)
  }

  @_optimize(speed)
  fileprivate mutating func give(_ piece: UnsafeMutableRawPointer) {
    let capacity = Self.capacity(piece)
    if capacity > Self.largest { return free(piece - Self.head) }
    let kind = capacity &>> Self.shift &- 1
    piece.storeBytes(of: pieces[kind], as: UnsafeMutableRawPointer?.self)
    pieces[kind] = piece
  }
}

// MARK: Functions for nghttp2

private func memory(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<StreamMemory>? {
  context?.assumingMemoryBound(to: StreamMemory.self)
}

private func takePiece(
  _ size: Int, _ context: UnsafeMutableRawPointer?
) -> UnsafeMutableRawPointer? {
  memory(context)?.pointee.take(size)
}

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
  let capacity = StreamMemory.capacity(piece)
  if size >= 0, size <= capacity { return piece }
  guard let larger = takePiece(size, context) else { return nil }
  memcpy(larger, piece, capacity)
  givePiece(piece, context)
  return larger
}
