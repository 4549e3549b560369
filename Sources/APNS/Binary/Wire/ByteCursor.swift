/// Reads big-endian numbers from a run of bytes and never past its end.
struct ByteCursor {
  let bytes: UnsafeRawBufferPointer
  private(set) var offset: Int

  init(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  var remaining: Int { bytes.count &- offset }

  mutating func readUInt8() -> UInt8? {
    guard remaining >= 1 else { return nil }
    defer { offset &+= 1 }
    return bytes[offset]
  }

  mutating func readUInt16() -> UInt16? {
    guard remaining >= 2 else { return nil }
    defer { offset &+= 2 }
    return UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  mutating func readUInt32() -> UInt32? {
    guard remaining >= 4 else { return nil }
    defer { offset &+= 4 }
    return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  mutating func readBytes(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, remaining >= count else { return nil }
    defer { offset &+= count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset &+ count)])
  }
}

/// Writes big-endian numbers and bytes into memory that the caller has measured.
struct ByteWriter {
  private(set) var target: UnsafeMutableRawPointer

  init(_ target: UnsafeMutableRawPointer) { self.target = target }

  mutating func write(_ value: UInt8) {
    target.storeBytes(of: value, as: UInt8.self)
    target += 1
  }

  mutating func write(_ value: UInt16) {
    target.storeBytes(of: value.bigEndian, as: UInt16.self)
    target += 2
  }

  mutating func write(_ value: UInt32) {
    target.storeBytes(of: value.bigEndian, as: UInt32.self)
    target += 4
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress, bytes.count > 0 {
      target.copyMemory(from: base, byteCount: bytes.count)
      target += bytes.count
    }
  }

  /// Writes a payload that may already be in its place.
  @inline(__always)
  mutating func write(payload: UnsafeRawBufferPointer) {
    if payload.baseAddress == UnsafeRawPointer(target) {
      target += payload.count
    } else {
      write(payload)
    }
  }

  /// Writes a token. Nearly every token has 32 bytes, which are written without a call.
  @inline(__always)
  mutating func write(token: UnsafeRawBufferPointer) {
    guard let base = token.baseAddress, token.count == WireNotification.usualToken else {
      return write(token)
    }
    for offset in stride(from: 0, to: WireNotification.usualToken, by: 16) {
      target.storeBytes(
        of: base.loadUnaligned(fromByteOffset: offset, as: SIMD2<UInt64>.self),
        toByteOffset: offset, as: SIMD2<UInt64>.self)
    }
    target += WireNotification.usualToken
  }
}
