import NIOHTTP1

/// Who may see the page. What a browser was led here by a foreign name, or sends for a foreign
/// page, is refused: such a page could read every push and press every button.
struct OriginCheck: Sendable {
  /// Where the page listens.
  let host: String

  func answer(_ request: Request, _ router: PageRouter) async -> Response {
    if let fault = fault(of: request) { return JSONResponse.fault(.forbidden, fault) }
    var response = await router.answer(request)
    for (name, value) in Self.headers { response.headers.replaceOrAdd(name: name, value: value) }
    return response
  }

  /// The page is made of its own files, and text of a push can be nothing else than text.
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

  /// Why whoever asks is not to be answered.
  func fault(of request: Request) -> String? {
    let hosts = request.headers["host"]
    guard hosts.count == 1, isOurs(hosts[0]) else { return "a foreign Host" }
    if request.headers["origin"].contains(where: { $0 != "http://\(hosts[0])" }) {
      return "a foreign Origin"
    }
    // Requests for foreign pages that bring no Origin, images and the like. A link is followed.
    let isForeign = request.headers["sec-fetch-site"].contains {
      $0 != "same-origin" && $0 != "none"
    }
    let isLink = request.method == .GET && request.headers["sec-fetch-mode"] == ["navigate"]
    return isForeign && !isLink ? "a foreign page" : nil
  }

  /// Addresses in digits are nobody's name: who listens beyond this machine is reached by them.
  private func isOurs(_ authority: String) -> Bool {
    guard let name = Self.name(authority) else { return false }
    if ["127.0.0.1", "localhost", "[::1]"].contains(name) || name == host.lowercased() {
      return true
    }
    let isOpen = !["127.0.0.1", "localhost", "::1"].contains(host)
    return isOpen && Self.isAddress(name)
  }

  /// What is left without the port; nil where it is none.
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
