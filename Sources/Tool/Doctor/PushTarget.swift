/// The service that the files are for, if it matters for the findings about them.
struct PushTarget {
  var isApple: Bool
  /// Nil if it is neither of Apple's, or unknown.
  var isSandbox: Bool?

  init(host: String?, sandbox: Bool, offline: Bool) {
    guard let host else {
      isApple = true
      isSandbox = sandbox ? true : offline ? nil : false
      return
    }
    let name = host.lowercased()
    isApple = name.hasSuffix(".push.apple.com")
    isSandbox =
      isApple ? name.contains("sandbox") || name.contains("development") : nil
  }
}
