import HTTPTypes
import HummingbirdCore

/// Who may see the page. What a browser was led here by a foreign name, or sends for a foreign
/// page, is refused: such a page could read every push and press every button.
struct Doorkeeper: Sendable {
  /// Where the page listens.
  let host: String

  func answer(_ request: Request, _ desk: PageDesk) async -> Response {
    if let fault = fault(of: request) { return JSONAnswer.fault(.forbidden, fault) }
    var response = await desk.answer(request)
    for (name, value) in Self.headers { response.headers[name] = value }
    return response
  }

  /// The page is made of its own files, and text of a push can be nothing else than text.
  private static let headers: [(HTTPField.Name, String)] = [
    (
      .contentSecurityPolicy,
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        + "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    (.cacheControl, "no-store"),
    (.xContentTypeOptions, "nosniff"),
    (HTTPField.Name("Referrer-Policy")!, "no-referrer"),
    (HTTPField.Name("Cross-Origin-Resource-Policy")!, "same-origin"),
    (HTTPField.Name("Cross-Origin-Opener-Policy")!, "same-origin"),
  ]

  /// Why whoever asks is not to be answered.
  func fault(of request: Request) -> String? {
    guard let authority = request.head.authority, request.headers[Self.host] == nil,
      isOurs(authority)
    else { return "a foreign Host" }
    if let origin = request.headers[.origin], origin != "http://\(authority)" {
      return "a foreign Origin"
    }
    // Requests for foreign pages that bring no Origin, images and the like. A link is followed.
    if let site = request.headers[Self.site], site != "same-origin", site != "none",
      !(request.method == .get && request.headers[Self.mode] == "navigate")
    {
      return "a foreign page"
    }
    return nil
  }

  /// A second one: the first is the request's authority.
  private static let host = HTTPField.Name("Host")!
  private static let site = HTTPField.Name("Sec-Fetch-Site")!
  private static let mode = HTTPField.Name("Sec-Fetch-Mode")!

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
