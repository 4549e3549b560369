/// Which service is meant, where that matters for what the files say.
struct PushTarget {
  var isApple: Bool
  /// Nil where it is neither of Apple's, or was not said.
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
