/// The proxy that https_proxy names, read as curl does. As in Go, connections to this machine use none.
enum ProxyEnvironment {
  static let fault =
    "https_proxy in the environment must be http://[USER[:PASSWORD]@]HOST[:PORT]; --proxy none uses no proxy"

  /// Nil: none is named for this host.
  static func text(for host: String) -> String? {
    guard let named = Environment.value("https_proxy") ?? Environment.value("HTTPS_PROXY") else {
      return nil
    }
    return isExcepted(host.lowercased()) ? nil : named
  }

  /// The default port is curl's.
  static func address(_ text: String) -> ProxyAddress? {
    ProxyAddress(text, mayHavePassword: true, defaultPort: 1080)
  }

  private static func isExcepted(_ host: String) -> Bool {
    if host == "localhost" || host == "::1" || host.hasPrefix("127.") { return true }
    let list = Environment.value("no_proxy") ?? Environment.value("NO_PROXY") ?? ""
    return list.lowercased().split { $0 == "," || $0 == " " }.contains { entry in
      let name = entry.drop { $0 == "." }
      return entry == "*" || host == name || host.hasSuffix("." + name)
    }
  }
}
