/// Where to connect to, and through what. Zero and nil are the library's defaults.
struct Peer {
  var host: String?
  var serverName: String?
  var port: UInt16 = 0
  var connectTimeoutMS: UInt32 = 0
  var proxyHost: String?
  var proxyUser: String?
  var proxyPassword: String?
  var proxyPort: UInt16 = 0
}
