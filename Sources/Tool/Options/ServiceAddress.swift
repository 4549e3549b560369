import APNSLibrary

/// Where a service is, taken out of what people have at hand: a name or an address, one with a
/// port, or a URL such as https://api.push.apple.com or ssl://gateway.example:2195.
struct ServiceAddress {
  struct Fault: Error {
    var message: String
  }

  var host: String
  /// Nil if the text has no port.
  var port: UInt16?

  private static let schemes = ["https", "tls", "ssl"]

  init(_ text: String) throws(Fault) {
    var rest = try Self.withoutScheme(text)
    guard !rest.contains("@") else {
      throw Fault(
        message:
          "a user before '@' is for a proxy: the provider is identified by certificate or key")
    }
    // Its parts would be quoted, which are too short to be known as those of a key.
    if let told = Redaction.told(text) {
      throw Fault(message: "\(told) is not the name of a host")
    }
    if let slash = rest.firstIndex(where: { "/?#".contains($0) }) {
      let path = rest[slash...]
      rest = rest[..<slash]
      guard path == "/" else {
        throw Fault(message: "'\(path)' is a path: give only the host, the tool makes the path")
      }
    }
    let (host, port) = try Self.parts(rest)
    guard !host.isEmpty else { throw Fault(message: "'\(text)' names no host") }
    guard host.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
      throw Fault(message: "'\(text)' is not a name or an address: there is a space in it")
    }
    self.host = String(host)
    self.port = port
  }

  private static func withoutScheme(_ text: String) throws(Fault) -> Substring {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      return text[...]
    }
    let scheme = text[..<colon].lowercased()
    guard schemes.contains(scheme) else {
      throw Fault(
        message: scheme == "http"
          ? "http:// is without TLS, but the service only speaks TLS: use https://"
          : "'\(scheme)://' is not a push service: name the host, or https://HOST")
    }
    return text[colon...].dropFirst(3)
  }

  /// An IPv6 address contains colons, so a port may only follow its brackets.
  private static func parts(_ text: Substring) throws(Fault) -> (Substring, UInt16?) {
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else {
        throw Fault(message: "'\(text)' has no ']'")
      }
      let host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      if rest.isEmpty { return (host, nil) }
      guard rest.first == ":" else { throw Fault(message: "'\(rest)' after ']' is not a port") }
      return (host, try number(rest.dropFirst()))
    }
    guard let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon else {
      return (text, nil)
    }
    return (text[..<colon], try number(text[text.index(after: colon)...]))
  }

  private static func number(_ text: Substring) throws(Fault) -> UInt16 {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let port = UInt16(text), port > 0
    else { throw Fault(message: "':\(text)' is not a port: 1 to 65535") }
    return port
  }
}
