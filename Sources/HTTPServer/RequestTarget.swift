/// A request's path and host (RFC 9112, 3.2 and 3.3).
package struct RequestTarget: Sendable {
  package enum Fault: Error, CustomStringConvertible {
    case missingHost, severalHosts, malformedHost, malformedTarget, otherScheme

    /// 421 means that the request was sent to the wrong server.
    package var status: Int { self == .otherScheme ? 421 : 400 }

    package var description: String {
      switch self {
      case .missingHost: "the request has no Host"
      case .severalHosts: "the request has several Hosts"
      case .malformedHost: "Host is not a host with or without a port"
      case .malformedTarget: "the target is neither a path nor an address that begins with http://"
      case .otherScheme: "only http is supported here"
      }
    }
  }

  /// The path with its query, if any.
  package let path: String
  /// nil if the request has no host, which HTTP/1.0 allows.
  package let authority: Authority?

  /// `target` is the text in the request, `hosts` are its `Host` fields. An absolute target, which
  /// HTTP/2 does not have, takes precedence over `Host`, which is required nevertheless.
  package init(
    _ target: String, hosts: [String], needsHost: Bool, takesAbsolute: Bool = true
  ) throws(Fault) {
    guard hosts.count <= 1 else { throw .severalHosts }
    var named: Authority?
    if let host = hosts.first {
      named = Authority(host)
      // Empty if the client has no host name, as on a UNIX socket.
      guard named != nil || host.isEmpty else { throw .malformedHost }
    }
    if hosts.isEmpty, needsHost { throw .missingHost }
    if target.hasPrefix("/") || target == "*" {
      (path, authority) = (target, named)
      return
    }
    guard takesAbsolute, let colon = target.firstRange(of: "://"),
      !target[..<colon.lowerBound].contains("/")
    else {
      throw .malformedTarget
    }
    guard target[..<colon.lowerBound].lowercased() == "http" else { throw .otherScheme }
    let rest = target[colon.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
    guard let absolute = Authority(rest[..<end]) else { throw .malformedTarget }
    authority = absolute
    path = rest[end...].hasPrefix("/") ? String(rest[end...]) : "/" + rest[end...]
  }
}
