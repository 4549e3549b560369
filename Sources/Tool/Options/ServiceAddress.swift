import ArgumentParser
import Client
import JSON

/// A service's address, from a name or an address, with or without a port, or a URL such as
/// https://api.push.apple.com or ssl://gateway.example:2195.
struct ServiceAddress {
  struct Fault: Error {
    var message: String
  }

  var host: String
  /// nil if the text has no port.
  var port: UInt16?

  private static let schemes = ["https", "tls", "ssl"]

  init(_ text: String) throws(Fault) {
    var rest = try Self.withoutScheme(text)
    guard !rest.contains("@") else {
      throw Fault(
        message:
          "a user before '@' is for a proxy: the provider is identified by certificate or key")
    }
    // Otherwise parts of it would be quoted that are too short to be recognized as a key's.
    if let replacement = Redaction.replacement(text) {
      throw Fault(message: "\(replacement) is not a host name")
    }
    if let slash = rest.firstIndex(where: { "/?#".contains($0) }) {
      let path = rest[slash...]
      rest = rest[..<slash]
      guard path == "/" else {
        throw Fault(message: "'\(path)' is a path: give only the host")
      }
    }
    let (host, port) = try Self.parts(rest)
    guard !host.isEmpty else { throw Fault(message: "'\(text)' has no host") }
    guard host.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
      throw Fault(message: "'\(text)' is not a name or an address: it contains a space")
    }
    self.host = String(host)
    self.port = port
  }

  static func read(_ text: String, of option: String) throws -> ServiceAddress {
    do throws(Fault) {
      return try ServiceAddress(text)
    } catch {
      throw ValidationError("\(option): \(error.message)")
    }
  }

  private static func withoutScheme(_ text: String) throws(Fault) -> Substring {
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
      return text[...]
    }
    let scheme = text[..<colon].lowercased()
    guard schemes.contains(scheme) else {
      throw Fault(
        message: scheme == "http"
          ? "http:// has no TLS, which the service requires: use https://"
          : "'\(scheme)://' is not a push service: give the host, or https://HOST")
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
    guard text.utf8.allSatisfy(\.isDigit),
      let port = UInt16(text), port > 0
    else { throw Fault(message: "':\(text)' is not a port: 1 to 65535") }
    return port
  }
}
