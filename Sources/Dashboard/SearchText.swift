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

  func isIn(_ bytes: ArraySlice<UInt8>) -> Bool { bytes.withUnsafeBufferPointer { isIn($0) } }

  private func isIn(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if isASCII { return find(in: bytes, Self.lower) }
    let text = Array(String(decoding: bytes, as: UTF8.self).lowercased().utf8)
    return text.withUnsafeBufferPointer { find(in: $0) { $0 } }
  }

  private func find(in bytes: UnsafeBufferPointer<UInt8>, _ fold: (UInt8) -> UInt8) -> Bool {
    guard let first = lower.first else { return true }
    if bytes.count < lower.count { return false }
    return lower.withUnsafeBufferPointer { lower in
      for start in 0...(bytes.count - lower.count) where fold(bytes[start]) == first {
        if (1..<lower.count).allSatisfy({ fold(bytes[start + $0]) == lower[$0] }) { return true }
      }
      return false
    }
  }

  private static func lower(_ byte: UInt8) -> UInt8 {
    (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
  }
}
