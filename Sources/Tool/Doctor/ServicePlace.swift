import CAPNS
import Client

/// The service's address, with the library's defaults filled in.
struct ServicePlace {
  var host: String
  var port: UInt16
  var serverName: String

  init(_ peer: Peer, isHTTP2: Bool) {
    let apples =
      isHTTP2
      ? (APNS_HOST_PRODUCTION, APNS_HOST_SANDBOX)
      : (APNS_BINARY_HOST_PRODUCTION, APNS_BINARY_HOST_SANDBOX)
    host = peer.host ?? (peer.isSandbox ? apples.1 : apples.0)
    port = peer.port != 0 ? peer.port : UInt16(isHTTP2 ? APNS_PORT_HTTP2 : APNS_PORT_GATEWAY)
    serverName = peer.serverName ?? host
  }

  var name: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
