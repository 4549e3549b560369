/// A part of a text, found without regard to case.
struct SearchText: Sendable {
  private let lower: [UInt8]
  private let isASCII: Bool

  init(_ text: String) {
    lower = Array(text.lowercased().utf8)
    isASCII = lower.allSatisfy { $0 < 0x80 }
  }

  func isIn(_ text: String?) -> Bool {
    guard var text else { return false }
    return text.withUTF8 { isIn($0) }
  }

  func isIn(_ bytes: UnsafeBufferPointer<UInt8>?) -> Bool {
    guard let bytes else { return false }
    if isASCII { return isFolded(in: bytes) }
    let text = Array(String(decoding: bytes, as: UTF8.self).lowercased().utf8)
    return text.withUnsafeBufferPointer { isFolded(in: $0) }
  }

  private func isFolded(in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = lower.first else { return true }
    if bytes.count < lower.count { return false }
    return lower.withUnsafeBufferPointer { lower in
      for start in 0...(bytes.count - lower.count) where Self.fold(bytes[start]) == first {
        var same = 1
        while same < lower.count, Self.fold(bytes[start + same]) == lower[same] { same += 1 }
        if same == lower.count { return true }
      }
      return false
    }
  }

  private static func fold(_ byte: UInt8) -> UInt8 {
    byte &- 0x41 < 26 ? byte | 0x20 : byte
  }
}
