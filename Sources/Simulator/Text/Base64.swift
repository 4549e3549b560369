import COpenSSL

/// Base64 with padding (RFC 4648, 4).
enum Base64 {
  static func append(_ bytes: some RandomAccessCollection<UInt8>, to text: inout [UInt8]) {
    // OpenSSL adds a NUL.
    text += [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { target, count in
      count = Int(EVP_EncodeBlock(target.baseAddress, Array(bytes), CInt(bytes.count)))
    }
  }

  static func text(of bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    append(bytes, to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// nil if the text is not the exact encoding of the bytes.
  static func bytes(of text: String) -> [UInt8]? {
    decoded(Array(text.utf8)).flatMap { self.text(of: $0) == text ? $0 : nil }
  }

  /// Base64url without padding (RFC 4648, 5), as in a JWT.
  static func bytes(ofURL text: some Collection<UInt8>) -> [UInt8]? {
    var other: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "-"): other.append(UInt8(ascii: "+"))
      case UInt8(ascii: "_"): other.append(UInt8(ascii: "/"))
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: other.append(byte)
      default: return nil
      }
    }
    // A single remaining character cannot be decoded.
    if other.count % 4 == 1 { return nil }
    return decoded(other + [UInt8](repeating: UInt8(ascii: "="), count: -other.count & 3))
  }

  private static func decoded(_ text: [UInt8]) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
    guard EVP_DecodeBlock(&bytes, text, CInt(text.count)) == bytes.count else { return nil }
    return bytes.dropLast(text.suffix(2).count { $0 == UInt8(ascii: "=") })
  }
}
