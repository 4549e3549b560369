/// Copies data that is mostly a few dozen bytes long, faster than a call would.
@inline(__always)
func copyShort(_ source: UnsafeRawPointer, to target: UnsafeMutableRawPointer, _ count: Int) {
  func copy<T: BitwiseCopyable>(_ type: T.Type, at offset: Int) {
    target.storeBytes(
      of: source.loadUnaligned(fromByteOffset: offset, as: type), toByteOffset: offset, as: type)
  }
  if count >= 8 {
    guard count <= 64 else { return target.copyMemory(from: source, byteCount: count) }
    // Copies some bytes twice if the count is not a multiple of eight.
    for offset in stride(from: 0, to: count &- 8, by: 8) { copy(UInt64.self, at: offset) }
    copy(UInt64.self, at: count &- 8)
  } else if count >= 4 {
    copy(UInt32.self, at: 0)
    copy(UInt32.self, at: count &- 4)
  } else if count > 0 {
    copy(UInt8.self, at: 0)
    copy(UInt8.self, at: count / 2)
    copy(UInt8.self, at: count &- 1)
  }
}
