/// Recognizes requests of foreign pages, which could read everything and press every button.
package enum PageOrigin {
  /// The reason to refuse a request; nil to accept it. `values` returns the values of a header field.
  /// With `behindTLS` a proxy may have added TLS.
  package static func fault(
    isGet: Bool, at authority: Authority, behindTLS: Bool = false, _ values: (String) -> [String]
  ) -> String? {
    let isForeign = values("origin").contains {
      !authority.isOrigin($0) && !(behindTLS && authority.isOrigin($0, scheme: "https://"))
    }
    if isForeign { return "foreign Origin" }
    // Refuses requests of foreign pages without an Origin, such as images. Links are allowed.
    let isFromElsewhere = values("sec-fetch-site").contains { $0 != "same-origin" && $0 != "none" }
    let isLink = isGet && values("sec-fetch-mode") == ["navigate"]
    return isFromElsewhere && !isLink ? "the request is from a foreign page" : nil
  }
}
