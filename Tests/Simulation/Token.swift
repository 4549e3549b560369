import CSystem

/// Tokens that name their notification, and payloads whose bytes identify it.
enum Token {
  /// Longer than any token or payload, from any start.
  private static let pattern: UnsafeMutableRawBufferPointer = {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 << 10, alignment: 16)
    var dice = Dice(seed: 1)
    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: dice.next()) }
    return bytes
  }()

  static func write(_ number: Int, _ target: UnsafeMutableRawBufferPointer) {
    let pattern = pattern
    for index in target.indices {
      target[index] =
        index < 4 ? UInt8(truncatingIfNeeded: number >> (8 * index)) : pattern[number % 997 + index]
    }
  }

  static func number(_ token: UnsafeRawBufferPointer) -> Int? {
    guard token.count >= 4 else { return nil }
    return (0..<4).reduce(0) { $0 | Int(token[$1]) << (8 * $1) }
  }

  static func isWhole(_ number: Int, _ token: UnsafeRawBufferPointer) -> Bool {
    isPart(UnsafeRawBufferPointer(rebasing: token[4...]), from: number % 997 + 4)
  }

  static func isPayload(_ number: Int, _ payload: UnsafeRawBufferPointer) -> Bool {
    isPart(payload, from: start(number))
  }

  private static func isPart(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Bool {
    guard let first = bytes.baseAddress, let own = pattern.baseAddress else { return true }
    return memcmp(first, own + start, bytes.count) == 0
  }

  private static func start(_ number: Int) -> Int { number * 31 % 1999 }

  static func payload(_ number: Int, _ count: Int) -> UnsafeRawBufferPointer {
    let start = start(number)
    return UnsafeRawBufferPointer(rebasing: pattern[start..<(start + count)])
  }
}
