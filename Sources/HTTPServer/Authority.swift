/// The host and port in `Host`, `:authority` or an absolute target.
package struct Authority: Equatable, Sendable {
  /// In lower case; an IPv6 address with its brackets.
  package let host: String
  package let port: UInt16?

  /// nil unless the text is a host with or without a port (RFC 3986, 3.2.2).
  package init?(_ text: some StringProtocol) {
    let bytes = Array(text.lowercased().utf8)
    let end: Int
    if bytes.first == UInt8(ascii: "[") {
      guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")), bracket > 1,
        bytes[1..<bracket].allSatisfy(Self.isOfIPv6)
      else { return nil }
      end = bracket + 1
    } else {
      end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
      guard end > 0, bytes[..<end].allSatisfy(Self.isOfName) else { return nil }
    }
    host = String(decoding: bytes[..<end], as: UTF8.self)
    guard end < bytes.count else {
      port = nil
      return
    }
    let digits = bytes[(end + 1)...]
    guard bytes[end] == UInt8(ascii: ":"), digits.allSatisfy(Self.isDigit),
      let number = UInt16(String(decoding: digits, as: UTF8.self))
    else { return nil }
    port = number
  }

  /// A loopback name or address, which no foreign page can have as its own name.
  package var isLoopback: Bool { Self.isLoopback(host) }

  /// A numeric address, which no foreign page can have as its own name either.
  package var isAddress: Bool { host.hasPrefix("[") || Self.octets(host) != nil }

  /// Whether a page on this host and port sends this `Origin`.
  package func isOrigin(_ origin: String, scheme: String = "http://") -> Bool {
    origin.lowercased().hasPrefix(scheme)
      && Authority(origin.dropFirst(scheme.count)) == self
  }

  /// `host` is a name or an address; an IPv6 address may have brackets.
  package static func isLoopback(_ host: String) -> Bool {
    ["localhost", "::1", "[::1]"].contains(host.lowercased()) || octets(host)?.first == 127
  }

  /// The four numbers of an IPv4 address.
  private static func octets(_ host: String) -> [UInt8]? {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { $0.utf8.allSatisfy(isDigit) ? UInt8($0) : nil }
    return parts.count == 4 && numbers.count == 4 ? numbers : nil
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  private static func isOfIPv6(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte &- 0x61 < 6 || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
  }

  private static let signs = Set("-._~%!$&'()*+,;=".utf8)

  private static func isOfName(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte &- 0x61 < 26 || signs.contains(byte)
  }
}
