/// That nobody is named who pushes. A service may let such a client in, and refuse each push.
struct NobodyCheck {
  var isHTTP2: Bool
  var target: PushTarget

  func run(_ report: inout Report, before line: Int) {
    // The service has said the same, and then that is enough.
    guard !report.findings.contains(where: { $0.cause == "certificate-wanted" }) else { return }
    report.add(
      Finding(
        cause: "credentials-missing", severity: target.isApple ? .problem : .warning,
        about: "provider",
        message: ProviderOptions.nobody
          + (isHTTP2
            ? "; a service that accepts such a connection answers each push with MissingProviderToken"
            : "; a gateway that accepts such a connection does not know whose pushes they are"),
        remedy: isHTTP2
          ? ProviderOptions.whom
          : "give --certificate FILE or --p12 FILE; a .p8 key is for HTTP/2 only"),
      before: line)
  }
}
