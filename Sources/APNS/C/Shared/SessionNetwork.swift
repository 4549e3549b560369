import CAPNS

/// The connections to the server.
@inline(never)
func network(
  _ peer: apns_peer_t, to host: UnsafePointer<CChar>, _ tuning: apns_tuning_t,
  _ checked: SessionOptions, _ credentials: OpaquePointer?, orPort: Int32
) throws(Failure) -> TLSNetwork {
  let endpoint = try Endpoint(
    peer, at: host, orPort: orPort, keepAlive: KeepAlive(milliseconds: tuning.keepalive_ms),
    speaksHTTP2: checked.speaksHTTP2)
  if endpoint.needsIdentity { try requireIdentity(credentials) }
  return try TLSNetwork(
    connections: checked.places, to: endpoint, trusting: share(credentials),
    neverWaits: checked.neverWaits)
}
