import HTTPServer
import NIOHTTP1

/// A complete HTTP/1 request.
struct Request: Sendable {
  let head: HTTPRequestHead
  /// The host in the request; nil without one.
  let authority: Authority?
  /// Unchanged, without the query.
  let path: String
  let query: [String: String]
  /// nil if it is longer than `bodyMax`.
  let body: [UInt8]?

  static let bodyMax = 1 << 16

  init(_ head: HTTPRequestHead, body: [UInt8]?) throws(RequestTarget.Fault) {
    let target = try head.target()
    self.head = head
    self.body = body
    authority = target.authority
    (path, query) = target.parts
  }

  var method: HTTPMethod { head.method }
  var headers: HTTPHeaders { head.headers }
}
