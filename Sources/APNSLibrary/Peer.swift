/// The address to connect to, and the proxy. Zero and nil are the library's defaults.
package struct Peer {
  package var host: String?
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
}
