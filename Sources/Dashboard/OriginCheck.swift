import NIOHTTP1

/// Decides who may see the page. Requests with a foreign host name or from a foreign page are
/// refused: such a page could read every push and press every button.
struct OriginCheck: Sendable {
  /// The host that the page listens on.
  let host: String

  func answer(_ request: Request, _ router: PageRouter) async -> Response {
    if let fault = fault(of: request) { return JSONResponse.fault(.forbidden, fault) }
    var response = await router.answer(request)
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

  /// Why the request is refused; nil if it is not.
  func fault(of request: Request) -> String? {
    let hosts = request.headers["host"]
    guard hosts.count == 1, isOurs(hosts[0]) else { return "the Host is foreign" }
    if request.headers["origin"].contains(where: { $0 != "http://\(hosts[0])" }) {
      return "the Origin is foreign"
    }
    // Requests of foreign pages without an Origin, such as images. Links are allowed.
    let isForeign = request.headers["sec-fetch-site"].contains {
      $0 != "same-origin" && $0 != "none"
    }
    let isLink = request.method == .GET && request.headers["sec-fetch-mode"] == ["navigate"]
    return isForeign && !isLink ? "the request is from a foreign page" : nil
  }

  /// Numeric addresses are allowed if the page listens beyond this machine: a foreign page cannot
  /// use them as its name.
  private func isOurs(_ authority: String) -> Bool {
    guard let name = Self.name(authority) else { return false }
    if ["127.0.0.1", "localhost", "[::1]"].contains(name) || name == host.lowercased() {
      return true
    }
    let isOpen = !["127.0.0.1", "localhost", "::1"].contains(host)
    return isOpen && Self.isAddress(name)
  }

  /// The host without the port; nil if the port is not a number.
  private static func name(_ authority: String) -> String? {
    let text = authority.lowercased()
    let end = text.hasPrefix("[") ? text.firstIndex(of: "]").map(text.index(after:)) : nil
    guard let colon = text[(end ?? text.startIndex)...].firstIndex(of: ":") else { return text }
    let port = text[text.index(after: colon)...]
    guard port.allSatisfy({ ("0"..."9").contains($0) }), UInt16(port) != nil else { return nil }
    return String(text[..<colon])
  }

  private static func isAddress(_ name: String) -> Bool {
    if name.hasPrefix("["), name.hasSuffix("]") {
      return name.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }
}
