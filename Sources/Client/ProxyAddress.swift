/// An HTTP proxy as a command line, the environment or a configuration names it.
package struct ProxyAddress: Equatable, Sendable {
  package var user: String?
  package var password: String?
  package var host: String
  package var port: UInt16

  /// [http://][USER[:PASSWORD]@]HOST:PORT. A command line must not have a password, because other
  /// users can see it.
  package init?(_ text: String, mayHavePassword: Bool = false, defaultPort: UInt16? = nil) {
    var rest = text[...]
    if rest.lowercased().hasPrefix("http://") { rest = rest.dropFirst(7) }
    if rest.last == "/" { rest = rest.dropLast() }
    guard !rest.contains("/") else { return nil }
    if let at = rest.lastIndex(of: "@") {
      let parts = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      rest = rest[rest.index(after: at)...]
      guard parts.count == 1 || mayHavePassword else { return nil }
      user = mayHavePassword ? Self.decoded(parts[0]) : String(parts[0])
      password = parts.count == 2 ? Self.decoded(parts[1]) : nil
    }
    if let colon = rest.lastIndex(of: ":"), rest.last != "]" {
      guard let number = UInt16(rest[rest.index(after: colon)...]), number > 0 else { return nil }
      port = number
      rest = rest[..<colon]
    } else {
      guard let defaultPort else { return nil }
      port = defaultPort
    }
    if rest.hasPrefix("["), rest.hasSuffix("]") { rest = rest.dropFirst().dropLast() }
    guard !rest.isEmpty else { return nil }
    host = String(rest)
  }

  /// The URL for the library.
  package var url: String {
    url(userInfo: user.map { "\(Self.encoded($0)):\(Self.encoded(password ?? ""))" })
  }

  /// The URL for people, with its password hidden.
  package var shown: String {
    url(userInfo: user.map { Self.encoded($0) + (password == nil ? "" : ":PASSWORD") })
  }

  private func url(userInfo: String?) -> String {
    "http://" + (userInfo.map { "\($0)@" } ?? "") + (host.contains(":") ? "[\(host)]" : host)
      + ":\(port)"
  }

  private static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      let digits = String(byte, radix: 16)
      return switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + digits
      }
    }.joined()
  }

  /// Decodes %XX.
  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      if byte == UInt8(ascii: "%"), digits.utf8.count == 2, let value = UInt8(digits, radix: 16) {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension Peer {
  package var proxyAddress: ProxyAddress? {
    proxy.flatMap { ProxyAddress($0, mayHavePassword: true) }
  }
}
