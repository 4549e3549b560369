import Foundation

/// The address of a Redis, and its credentials.
package struct RedisAddress: Equatable, Sendable {
  package enum Place: Hashable, Sendable {
    case host(String, port: Int)
    case socket(String)
    /// Redis Sentinels, which know the primary of this name.
    case sentinels([Place], primary: String)
    /// Some nodes of a cluster, which know the other nodes.
    case cluster([Place])

    /// As in a URL.
    var name: String {
      switch self {
      case .host(let host, let port): "\(host.contains(":") ? "[\(host)]" : host):\(port)"
      case .socket(let path): path
      case .sentinels(let places, let primary):
        "\(places.map(\.name).joined(separator: ","))/\(primary)"
      case .cluster(let places): places.map(\.name).joined(separator: ",")
      }
    }
  }

  private enum Kind: String, CaseIterable {
    case one = "", sentinel = "+sentinel", cluster = "+cluster"
  }

  package var place: Place
  package var user: String?
  package var password: String?
  package var database = 0
  /// nil without TLS.
  package var tls: ClientTLS?

  private static let noAddress = RelayFault(
    "is not a valid URL; percent-encode / and @ in a password as %2F and %40")

  /// Whether a text is a Redis URL and not a file name.
  package static func isOne(_ text: String) -> Bool {
    text.hasPrefix("unix:") || scheme(of: text) != nil
  }

  /// Parses redis://[user:password@]host[:port][/database], unix:/path[?db=number],
  /// redis+sentinel://[user:password@]host[:port],host[:port]/primary[/database] or
  /// redis+cluster://[user:password@]host[:port],host[:port]. The scheme rediss in place of redis
  /// means TLS. Errors do not repeat the text, because it may contain a password.
  package init(_ text: String) throws(RelayFault) {
    if text.hasPrefix("unix:") {
      try self.init(unix: text)
      return
    }
    guard let (kind, isSecure, rest) = Self.scheme(of: text) else {
      throw RelayFault("must be redis://[user:password@]host:port/database, or unix:/path")
    }
    switch kind {
    case .one: try self.init(one: "redis://\(rest)")
    case .sentinel: try self.init(sentinels: rest)
    case .cluster: try self.init(cluster: rest)
    }
    if isSecure { tls = ClientTLS() }
  }

  private static func scheme(of text: String) -> (Kind, isSecure: Bool, rest: Substring)? {
    for kind in Kind.allCases {
      for (start, isSecure) in [("redis", false), ("rediss", true)] {
        let scheme = start + kind.rawValue + "://"
        if text.hasPrefix(scheme) { return (kind, isSecure, text.dropFirst(scheme.count)) }
      }
    }
    return nil
  }

  private init(unix text: String) throws(RelayFault) {
    let parts = text.dropFirst(5).split(separator: "?", maxSplits: 1)
    var path = parts.first.map(String.init) ?? ""
    if path.hasPrefix("//") { path.removeFirst(2) }
    guard path.hasPrefix("/") else {
      throw RelayFault("unix: needs an absolute path, such as unix:/run/redis.sock")
    }
    place = .socket(path)
    if parts.count == 2 {
      guard parts[1].hasPrefix("db=") else {
        throw RelayFault("only ?db=number may follow the path")
      }
      database = try Self.database(parts[1].dropFirst(3))
    }
  }

  private init(one text: String) throws(RelayFault) {
    guard let parts = URLComponents(string: text), let host = parts.host, !host.isEmpty else {
      throw Self.noAddress
    }
    guard parts.query == nil, parts.fragment == nil else {
      throw RelayFault("the database number must be last")
    }
    let isLiteral = host.hasPrefix("[") && host.hasSuffix("]")
    let port = parts.port ?? 6379
    guard (1...65535).contains(port) else {
      throw RelayFault("the port must be 1 to 65535")
    }
    place = .host(isLiteral ? String(host.dropFirst().dropLast()) : host, port: port)
    user = parts.user.flatMap { $0.isEmpty ? nil : $0 }
    password = parts.password.flatMap { $0.isEmpty ? nil : $0 }
    let path = parts.path.drop { $0 == "/" }
    if !path.isEmpty { database = try Self.database(path) }
  }

  /// Parses the part after the scheme.
  private init(sentinels text: Substring) throws(RelayFault) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), !parts[1].isEmpty else {
      throw RelayFault(
        "must be redis+sentinel://[user:password@]host:port,host:port/primary/database"
      )
    }
    let hosts = try Self.hosts(parts[0], port: 26379)
    place = .sentinels(hosts.places, primary: String(parts[1]))
    (user, password) = (hosts.user, hosts.password)
    if parts.count == 3, !parts[2].isEmpty { database = try Self.database(parts[2]) }
  }

  /// Parses the part after the scheme.
  private init(cluster text: Substring) throws(RelayFault) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2 else {
      throw RelayFault("must be redis+cluster://[user:password@]host:port,host:port")
    }
    let hosts = try Self.hosts(parts[0], port: 6379)
    place = .cluster(hosts.places)
    (user, password) = (hosts.user, hosts.password)
    guard parts.count == 2, !parts[1].isEmpty else { return }
    let database = try Self.database(parts[1])
    guard database == 0 else {
      throw RelayFault("a cluster has only database 0, not \(database)")
    }
  }

  /// Parses hosts separated by commas, and the user and password before them.
  private static func hosts(
    _ text: Substring, port preset: Int
  ) throws(RelayFault) -> (places: [Place], user: String?, password: String?) {
    var (hosts, user, password) = (text, String?.none, String?.none)
    if let at = hosts.lastIndex(of: "@") {
      let who = hosts[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let decoded = who.map { String($0).removingPercentEncoding }
      guard decoded.count == 2, let name = decoded[0], let secret = decoded[1] else {
        throw noAddress
      }
      user = name.isEmpty ? nil : name
      password = secret.isEmpty ? nil : secret
      hosts = hosts[hosts.index(after: at)...]
    }
    var places: [Place] = []
    for one in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      guard let parts = URLComponents(string: "redis://\(one)"), let host = parts.host,
        !host.isEmpty,
        parts.user == nil, parts.path.isEmpty, case let port = parts.port ?? preset,
        (1...65535).contains(port)
      else { throw noAddress }
      places.append(.host(host.trimmingCharacters(in: ["[", "]"]), port: port))
    }
    return (places, user, password)
  }

  private static func database(_ text: Substring) throws(RelayFault) -> Int {
    guard let number = Int(text), (0...9999).contains(number) else {
      throw RelayFault("the database must be a number such as 0")
    }
    return number
  }

  /// The URL without user and password.
  package var name: String {
    let scheme = tls == nil ? "redis" : "rediss"
    return switch place {
    case .host: "\(scheme)://\(place.name)"
    case .socket: "unix:\(place.name)"
    case .sentinels: "\(scheme)+sentinel://\(place.name)"
    case .cluster: "\(scheme)+cluster://\(place.name)"
    }
  }

  /// The text of a URL with its password hidden.
  package static func shown(_ text: String) -> String {
    guard let (_, _, rest) = scheme(of: text), let at = rest.lastIndex(of: "@"),
      let colon = rest[..<at].firstIndex(of: ":")
    else { return text }
    return text[...colon] + "PASSWORD" + text[at...]
  }
}
