/// The service for which the files are checked.
struct PushTarget {
  var isApple: Bool
  /// nil if it is not Apple's, or unknown.
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
