import APNSLibrary
import ArgumentParser
import Glibc

/// Where to connect to: the same for every command that does.
struct PeerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The service's name or address, also as host:port or https://host. Default: Apple's.",
      valueName: "name"))
  var host: String?

  @Option(help: ArgumentHelp("Its port. Default: Apple's.", valueName: "port"))
  var port: UInt16?

  @Option(
    help: ArgumentHelp("The name in its certificate. Default: --host.", valueName: "name"))
  var serverName: String?

  @Flag(help: "Use Apple's sandbox, for apps that Xcode installed on the device.")
  var sandbox = false

  @Option(
    help: ArgumentHelp(
      """
      An HTTP proxy (CONNECT) to go through, with USER@ before it if it wants a user; the \
      password is taken from APNS_PROXY_PASSWORD in the environment.
      """, valueName: "host:port"))
  var proxy: String?

  @Option(help: ArgumentHelp("How long connecting may take.", valueName: "seconds"))
  var connectTimeout: Double = 10

  func validate() throws {
    if sandbox, host != nil {
      throw ValidationError("--sandbox is Apple's service: it cannot be used with --host")
    }
    if let host {
      let named: ServiceAddress
      do throws(ServiceAddress.Fault) {
        named = try ServiceAddress(host)
      } catch {
        throw ValidationError("--host: \(error.message)")
      }
      if let port, let other = named.port, other != port {
        throw ValidationError(
          "--host has port \(other), but --port is \(port): give only one of them")
      }
    }
    if port == 0 { throw ValidationError("--port must be 1 to 65535") }
    guard connectTimeout >= 0.001, connectTimeout <= 3600 else {
      throw ValidationError("--connect-timeout must be 0.001 to 3600 seconds")
    }
    if proxy != nil, proxyParts == nil {
      throw ValidationError("--proxy must be [USER@]HOST:PORT")
    }
  }

  /// What --host names; nil where it is Apple.
  var address: ServiceAddress? { host.flatMap { try? ServiceAddress($0) } }

  func peer(sandbox name: String) -> Peer {
    let address = address
    var peer = Peer(host: address?.host ?? (sandbox ? name : nil), serverName: serverName)
    peer.port = port ?? address?.port ?? 0
    peer.connectTimeoutMS = UInt32(connectTimeout * 1000)
    if let proxy = proxyParts {
      peer.proxyHost = proxy.host
      peer.proxyPort = proxy.port
      peer.proxyUser = proxy.user
      peer.proxyPassword = getenv("APNS_PROXY_PASSWORD").map { String(cString: $0) }
    }
    return peer
  }

  private var proxyParts: (user: String?, host: String, port: UInt16)? {
    var named = proxy?[...]
    // As http_proxy and its like have it.
    if named?.lowercased().hasPrefix("http://") == true { named = named?.dropFirst(7) }
    if named?.last == "/" { named = named?.dropLast() }
    guard let proxy = named, !proxy.contains("/"), let colon = proxy.lastIndex(of: ":"),
      let port = UInt16(proxy[proxy.index(after: colon)...]), port > 0
    else { return nil }
    var host = proxy[..<colon]
    var user: String?
    if let at = host.lastIndex(of: "@") {
      user = String(host[..<at])
      host = host[host.index(after: at)...]
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    return host.isEmpty ? nil : (user, String(host), port)
  }
}
