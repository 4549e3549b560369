/// The first bytes that a service sent: unencrypted TLS (RFC 8446, 4.1.3 and 5.1), or another
/// protocol.
struct HelloBytes: Sendable {
  private static let limit = 4096
  private(set) var bytes: [UInt8] = []

  mutating func add(_ more: some Sequence<UInt8>) {
    bytes += more.prefix(max(0, Self.limit - bytes.count))
  }

  var isEmpty: Bool { bytes.isEmpty }

  /// A handshake or an alert.
  var isTLS: Bool { bytes.count >= 3 && (bytes[0] == 22 || bytes[0] == 21) && bytes[1] == 3 }

  /// "1.2", for example; nil if it is not a server's hello.
  var version: String? {
    guard isTLS, bytes[0] == 22, bytes.count >= 44, bytes[5] == 2 else { return nil }
    switch supported ?? bytes[10] {
    case 1: return "1.0"
    case 2: return "1.1"
    case 3: return "1.2"
    case 4: return "1.3"
    default: return nil
    }
  }

  /// The second byte of the version in the extension supported_versions.
  private var supported: UInt8? {
    var next = 44 + Int(bytes[43]) + 3
    func number(_ index: Int) -> Int? {
      index + 1 < bytes.count ? Int(bytes[index]) << 8 | Int(bytes[index + 1]) : nil
    }
    guard let length = number(next) else { return nil }
    let end = next + 2 + length
    next += 2
    while next + 4 <= end, let kind = number(next), let length = number(next + 2) {
      if kind == 43, length == 2, next + 5 < bytes.count { return bytes[next + 5] }
      next += 4 + length
    }
    return nil
  }

  /// The first line of input other than TLS.
  var line: String {
    String(decoding: bytes.prefix { $0 != 0x0D && $0 != 0x0A }.prefix(60), as: UTF8.self)
  }
}
