import CAPNS

/// The address to connect to, and the proxy. Zero and nil are the library's defaults.
package struct Peer {
  /// Nil: Apple's, of the environment.
  package var host: String?
  package var isSandbox = false
  package var serverName: String?
  package var port: UInt16 = 0
  package var connectTimeoutMS: UInt32 = 0
  package var proxyHost: String?
  package var proxyUser: String?
  package var proxyPassword: String?
  package var proxyPort: UInt16 = 0

  package init(host: String? = nil, serverName: String? = nil) {
    self.host = host
    self.serverName = serverName
  }

  package var environment: Int32 {
    Int32((isSandbox ? APNS_ENVIRONMENT_SANDBOX : APNS_ENVIRONMENT_PRODUCTION).rawValue)
  }
}
