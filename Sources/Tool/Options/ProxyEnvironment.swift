import Client

/// The proxy in https_proxy, parsed like curl does. As in Go, connections to this machine use no
/// proxy.
enum ProxyEnvironment {
  struct Named {
    let variable: String
    let text: String

    /// The default port is curl's.
    var address: ProxyAddress? {
      ProxyAddress(text, mayHavePassword: true, defaultPort: 1080)
    }

    var fault: String {
      "\(variable) in the environment must be http://[USER[:PASSWORD]@]HOST[:PORT]; --proxy none uses no proxy"
    }
  }

  /// nil if no proxy is set for this host.
  static func proxy(for host: String) -> Named? {
    if isExcepted(host.lowercased()) { return nil }
    for variable in ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
      if let text = Environment.value(variable) { return Named(variable: variable, text: text) }
    }
    return nil
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
