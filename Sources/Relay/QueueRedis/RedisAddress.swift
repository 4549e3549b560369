import Foundation

/// Where a Redis is, and as whom to speak to it.
package struct RedisAddress: Equatable, Sendable {
  package enum Place: Equatable, Sendable {
    case host(String, port: Int)
    case socket(String)
  }

  package struct Fault: Error, CustomStringConvertible {
    package var description: String
  }

  package var place: Place
  package var user: String?
  package var password: String?
  package var database = 0

  /// redis://[user:password@]host[:port][/database], or unix:/path[?db=number]. What it throws does
  /// not repeat the text, because a password may be in it.
  package init(_ text: String) throws(Fault) {
    if text.hasPrefix("unix:") {
      let parts = text.dropFirst(5).split(separator: "?", maxSplits: 1)
      var path = parts.first.map(String.init) ?? ""
      if path.hasPrefix("//") { path.removeFirst(2) }
      guard path.hasPrefix("/") else {
        throw Fault(description: "unix: needs a path from the root, such as unix:/run/redis.sock")
      }
      place = .socket(path)
      if parts.count == 2 {
        guard parts[1].hasPrefix("db=") else {
          throw Fault(description: "behind the path there may be ?db=number, and nothing else")
        }
        database = try Self.database(parts[1].dropFirst(3))
      }
      return
    }
    if text.hasPrefix("rediss:") {
      throw Fault(description: "TLS is not there: use a tunnel, and redis:// to its near end")
    }
    guard text.hasPrefix("redis://") else {
      throw Fault(
        description: "must be redis://[user:password@]host:port/database, or unix:/path")
    }
    guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty else {
      throw Fault(
        description: "is no address: a sign such as / or @ in a password is written as %2F or %40")
    }
    guard parts.query == nil, parts.fragment == nil else {
      throw Fault(description: "there may be nothing behind the database's number")
    }
    let isLiteral = host.hasPrefix("[") && host.hasSuffix("]")
    let port = parts.port ?? 6379
    guard (1...65535).contains(port) else { throw Fault(description: "the port is 1 to 65535") }
    place = .host(isLiteral ? String(host.dropFirst().dropLast()) : host, port: port)
    user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
    password = parts.password.flatMap { $0.isEmpty ? nil : $0 }
    let path = parts.path.drop { $0 == "/" }
    if !path.isEmpty { database = try Self.database(path) }
  }

  private static func database(_ text: Substring) throws(Fault) -> Int {
    guard let number = Int(text), (0...9999).contains(number) else {
      throw Fault(description: "the database is a number, such as 0")
    }
    return number
  }

  /// Without the password.
  package var name: String {
    switch place {
    case .host(let host, let port): "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    case .socket(let path): "unix:\(path)"
    }
  }

  /// The text of an address with its password hidden.
  package static func shown(_ text: String) -> String {
    guard text.hasPrefix("redis://"), let at = text.lastIndex(of: "@") else { return text }
    let start = text.index(text.startIndex, offsetBy: 8)
    guard let colon = text[start..<at].firstIndex(of: ":") else { return text }
    return text[...colon] + "PASSWORD" + text[at...]
  }
}
