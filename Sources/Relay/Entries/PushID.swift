import Glibc

/// The apns-id of a push as APNs wrote it. The bytes are stored inline, so that an ID for
/// each push allocates no memory.
package struct PushID: Sendable {
  /// The length of the field in the library's event, without its NUL.
  static let longest = 39

  /// The last byte holds the length.
  private var words: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

  package init() {}

  /// Truncates a longer text.
  package init(_ text: String) {
    var text = text
    self = text.withUTF8 { PushID(UnsafeRawBufferPointer($0)) }
  }

  /// Reads up to a NUL or the longest length. Empty if a byte is not ASCII.
  init(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    let count = strnlen(start.assumingMemoryBound(to: CChar.self), min(bytes.count, Self.longest))
    withUnsafeMutableBytes(of: &words) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: start, count: count))
      $0[Self.longest] = UInt8(truncatingIfNeeded: count)
    }
    let all = words.0 | words.1 | words.2 | words.3 | words.4
    if all & 0x8080_8080_8080_8080 != 0 { self = PushID() }
  }

  package var isEmpty: Bool { words.0 == 0 }
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  @inline(__always)
  package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows
    -> Result
  {
    try withUnsafeBytes(of: words) { bytes in
      try body(
        UnsafeBufferPointer(
          start: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
          count: Int(bytes[Self.longest])))
    }
  }
}

extension PushID: Equatable {
  package static func == (one: PushID, other: PushID) -> Bool {
    (one.words.0, one.words.1, one.words.2, one.words.3, one.words.4)
      == (other.words.0, other.words.1, other.words.2, other.words.3, other.words.4)
  }
}

extension PushID: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}
