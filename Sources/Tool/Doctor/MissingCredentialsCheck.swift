/// Reports missing credentials. A service may accept such a connection and reject every push.
struct MissingCredentialsCheck {
  var isHTTP2: Bool
  var target: PushTarget

  func run(_ report: inout Report, before line: Int) {
    // The service may have reported the same already.
    guard !report.findings.contains(where: { $0.cause == "certificate-wanted" }) else { return }
    report.add(
      Finding(
        cause: "credentials-missing", severity: target.isApple ? .problem : .warning,
        about: "provider",
        message: ProviderOptions.nobody
          + (isHTTP2
            ? "; a service that accepts such a connection rejects each push with MissingProviderToken"
            : "; a gateway that accepts such a connection cannot identify the provider"),
        remedy: isHTTP2
          ? ProviderOptions.whom
          : "give --certificate FILE or --p12 FILE; a .p8 key is for HTTP/2 only"),
      before: line)
  }
}
