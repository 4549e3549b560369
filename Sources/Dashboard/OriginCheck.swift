import HTTPServer
import NIOHTTP1

/// Decides who may see the page. Requests with a foreign host name or from a foreign page are
/// refused: such a page could read every push and press every button.
struct OriginCheck: Sendable {
  let names: ListenerNames

  func respond(_ request: Request, _ router: PageRouter) async -> Response {
    if let fault = fault(of: request) { return .fault(403, fault) }
    var response = await router.respond(request)
    for (name, value) in Self.headers { response.headers.replaceOrAdd(name: name, value: value) }
    return response
  }

  /// The page only loads its own files, and a push's text stays text.
  private static let headers: [(String, String)] = [
    (
      "content-security-policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        + "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
  ]

  /// The reason to refuse the request; nil to accept it.
  func fault(of request: Request) -> String? {
    guard let authority = request.authority, names.contains(authority) else {
      return "foreign Host"
    }
    return PageOrigin.fault(isGet: request.method == .GET, at: authority) { request.headers[$0] }
  }
}
