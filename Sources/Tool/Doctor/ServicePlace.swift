import APNSLibrary
import CAPNS

/// Where the service is, with what the library takes for granted said.
struct ServicePlace {
  var host: String
  var port: UInt16
  var serverName: String

  init(_ peer: Peer, isHTTP2: Bool) {
    host = peer.host ?? (isHTTP2 ? APNS_HOST_HTTP2_PRODUCTION : APNS_HOST_PRODUCTION)
    port = peer.port != 0 ? peer.port : UInt16(isHTTP2 ? APNS_PORT_HTTP2 : APNS_PORT_GATEWAY)
    serverName = peer.serverName ?? host
  }

  var name: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
