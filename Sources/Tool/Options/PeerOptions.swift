import ArgumentParser
import CAPNS
import Client
import CommandOptions

/// The options for connecting, shared by all commands that do.
struct PeerOptions: ParsableArguments {
  @Option(
    help: .of(
      "name", "The service's name or address, also as host:port or https://host. Default: Apple's.")
  )
  var host: String?

  @Option(help: .of("port", "Its port. Default: Apple's."))
  var port: UInt16?

  @Option(help: .of("name", "The name in its certificate. Default: --host."))
  var serverName: String?

  @Flag(help: "Use Apple's sandbox, for apps that Xcode installed on the device.")
  var sandbox = false

  @Option(
    help: ArgumentHelp(
      """
      An HTTP proxy (CONNECT), with USER@ first if it requires a user; the password is \
      APNS_PROXY_PASSWORD in the environment. Default: https_proxy in the environment, unless \
      no_proxy names the service; "none" uses no proxy.
      """, valueName: "host:port"))
  var proxy: String?

  @Option(help: .of("seconds", "The timeout for connecting."))
  var connectTimeout: Double = 10

  func validate() throws {
    if sandbox, host != nil {
      throw ValidationError("--sandbox is for Apple's service: it cannot be used with --host")
    }
    if let host {
      let named = try ServiceAddress.read(host, of: "--host")
      if let port, let other = named.port, other != port {
        throw ValidationError(
          "--host has port \(other), but --port is \(port): give only one of them")
      }
    }
    if port == 0 { throw ValidationError("--port must be 1 to 65535") }
    guard connectTimeout >= 0.001, connectTimeout <= 3600 else {
      throw ValidationError("--connect-timeout must be 0.001 to 3600 seconds")
    }
    if let proxy, proxy != "none", ProxyAddress(proxy) == nil {
      throw ValidationError("--proxy must be [USER@]HOST:PORT")
    }
    if let inherited = inheritedProxy, inherited.address == nil {
      throw ValidationError(inherited.fault)
    }
  }

  /// The address in --host; nil for Apple's.
  var address: ServiceAddress? { host.flatMap { try? ServiceAddress($0) } }

  var peer: Peer {
    let address = address
    var peer = Peer(host: address?.host, serverName: serverName)
    peer.isSandbox = sandbox
    peer.port = port ?? address?.port ?? 0
    peer.connectTimeoutMS = UInt32(connectTimeout * 1000)
    if var used = proxy.flatMap({ ProxyAddress($0) })
      ?? inheritedProxy?.address
    {
      used.password = Environment.value("APNS_PROXY_PASSWORD") ?? used.password
      peer.proxy = used.url
    }
    return peer
  }

  /// The proxy from the environment, if the command line does not name one.
  private var inheritedProxy: ProxyEnvironment.Named? {
    proxy == nil ? ProxyEnvironment.proxy(for: address?.host ?? APNS_HOST_PRODUCTION) : nil
  }
}
