import CAPNS

@_cdecl("apns_session_ssl") @implementation
public func apns_session_ssl(_ session: OpaquePointer?) -> OpaquePointer? {
  guard let session else { return nil }
  return try? pass(StandIn(handle: SessionHandle(session)), to: session)
}

/// Makes the SSL that represents the session.
private struct StandIn: SessionCall {
  let handle: SessionHandle

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) -> OpaquePointer { try handle.ssl() }
}
