import CSystem

/// SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF") with this process's own
/// key, so that nobody outside can choose texts that collide.
struct KeyedHash {
  private let key: (UInt64, UInt64)

  init() {
    var words: (UInt64, UInt64) = (0, 0)
    csystem_process_secret(&words.0, &words.1)
    key = words
  }

  init(key: (UInt64, UInt64)) { self.key = key }

  @_optimize(speed)
  func hash(_ start: UnsafeRawPointer?, _ count: Int) -> UInt64 {
    var v0 = key.0 ^ 0x736F_6D65_7073_6575
    var v1 = key.1 ^ 0x646F_7261_6E64_6F6D
    var v2 = key.0 ^ 0x6C79_6765_6E65_7261
    var v3 = key.1 ^ 0x7465_6462_7974_6573
    var last = UInt64(truncatingIfNeeded: count) &<< 56
    if let start {
      var offset = 0
      while count &- offset >= 8 {
        let word = UInt64(
          littleEndian: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        v3 ^= word
        Self.round(&v0, &v1, &v2, &v3)
        v0 ^= word
        offset &+= 8
      }
      var shift: UInt64 = 0
      while offset < count {
        last |= UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) &<< shift
        shift &+= 8
        offset &+= 1
      }
    }
    v3 ^= last
    Self.round(&v0, &v1, &v2, &v3)
    v0 ^= last
    v2 ^= 0xFF
    for _ in 0..<3 { Self.round(&v0, &v1, &v2, &v3) }
    return v0 ^ v1 ^ v2 ^ v3
  }

  @inline(__always)
  private static func round(
    _ v0: inout UInt64, _ v1: inout UInt64, _ v2: inout UInt64, _ v3: inout UInt64
  ) {
    v0 &+= v1
    v2 &+= v3
    v1 = v1 &<< 13 | v1 &>> 51
    v3 = v3 &<< 16 | v3 &>> 48
    v1 ^= v0
    v3 ^= v2
    v0 = v0 &<< 32 | v0 &>> 32
    v2 &+= v1
    v0 &+= v3
    v1 = v1 &<< 17 | v1 &>> 47
    v3 = v3 &<< 21 | v3 &>> 43
    v1 ^= v2
    v3 ^= v0
    v2 = v2 &<< 32 | v2 &>> 32
  }
}
