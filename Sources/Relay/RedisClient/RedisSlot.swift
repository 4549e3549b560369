/// Computes the hash slot of a key, according to the Redis Cluster specification.
enum RedisSlot {
  static let count = 16384

  static func of(_ key: String) -> Int {
    var key = key
    return key.withUTF8 { Int(crc16(UnsafeRawBufferPointer(tag(of: $0))) & 0x3FFF) }
  }

  /// The hash tag: the text between the first { and the next }, if not empty. Keys with the same
  /// tag share a slot.
  private static func tag(of key: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard let first = key.firstIndex(of: UInt8(ascii: "{")),
      let end = key[(first + 1)...].firstIndex(of: UInt8(ascii: "}")), end > first + 1
    else { return key }
    return UnsafeBufferPointer(rebasing: key[(first + 1)..<end])
  }

  /// CRC-16/XMODEM.
  private static func crc16(_ bytes: UnsafeRawBufferPointer) -> UInt16 {
    var sum: UInt16 = 0
    for byte in bytes { sum = (sum << 8) ^ table[Int(UInt8(truncatingIfNeeded: sum >> 8) ^ byte)] }
    return sum
  }

  private static let table: [UInt16] = (0..<256).map { index in
    var sum = UInt16(index) << 8
    for _ in 0..<8 { sum = sum & 0x8000 != 0 ? (sum << 1) ^ 0x1021 : sum << 1 }
    return sum
  }
}
