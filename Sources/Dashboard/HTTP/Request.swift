import HTTPServer
import NIOHTTP1

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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
    let halves = target.path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(halves.first ?? "")
    let items = halves.count == 2 ? URLComponents(string: "?\(halves[1])")?.queryItems : nil
    query = Dictionary((items ?? []).map { ($0.name, $0.value ?? "") }) { first, _ in first }
  }

  var method: HTTPMethod { head.method }
  var headers: HTTPHeaders { head.headers }
}
