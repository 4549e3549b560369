import CAPNS

/// The address to connect to, and the proxy. Zero and nil are the library's defaults.
package struct Peer {
  /// Nil for Apple's host in this environment.
  package var host: String?
  package var isSandbox = false
  package var serverName: String?
  package var port: UInt16 = 0
  package var connectTimeoutMS: UInt32 = 0
  /// A URL, perhaps with a password.
  package var proxy: String?
  /// Without `proxy`, uses the environment's https_proxy.
  package var usesEnvironmentProxy = false

  package init(host: String? = nil, serverName: String? = nil) {
    self.host = host
    self.serverName = serverName
  }

  package var environment: Int32 {
    Int32((isSandbox ? APNS_ENVIRONMENT_SANDBOX : APNS_ENVIRONMENT_PRODUCTION).rawValue)
  }

  /// Converts it to the library's peer, which points to strings in `strings`.
  package func lent(_ strings: LentStrings) -> apns_peer_t {
    var peer = apns_peer_t()
    peer.host = strings.lend(host)
    peer.server_name = strings.lend(serverName)
    peer.port = port
    peer.connect_timeout_ms = connectTimeoutMS
    peer.proxy = strings.lend(proxy)
    peer.proxy_from_environment = usesEnvironmentProxy ? 1 : 0
    return peer
  }
}
