/// Base64 with padding (RFC 4648, 4).
enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func append(_ bytes: some RandomAccessCollection<UInt8>, to text: inout [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(3))
      rest = rest.dropFirst(3)
      var group: UInt32 = 0
      for index in 0..<3 { group = group << 8 | (index < piece.count ? UInt32(piece[index]) : 0) }
      for index in 0..<4 {
        text.append(
          index <= piece.count
            ? alphabet[Int(group >> UInt32(18 - 6 * index) & 63)] : UInt8(ascii: "="))
      }
    }
  }

  static func text(of bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// nil if the text is not the exact encoding of the bytes.
  static func bytes(of text: String) -> [UInt8]? {
    let swapped = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      // Not a character of either alphabet.
      case UInt8(ascii: "-"), UInt8(ascii: "_"): UInt8(ascii: " ")
      default: byte
      }
    }
    let end = swapped.firstIndex(of: UInt8(ascii: "=")) ?? swapped.endIndex
    guard let bytes = Base64URL.bytes(of: swapped[..<end]), self.text(of: bytes) == text else {
      return nil
    }
    return bytes
  }
}
