import COpenSSL

/// What a connection leaves behind for the next one to the same peer, which then
/// spares both the costly part of the handshake.
struct TLSSession: ~Copyable {
  private let session: OpaquePointer

  /// Nil where the peer gave nothing to resume.
  init?(of ssl: OpaquePointer) {
    guard let session = SSL_get1_session(ssl) else { return nil }
    self.session = session
  }

  deinit { SSL_SESSION_free(session) }

  /// Offers it in the handshake to come; a peer that has forgotten it makes a full one.
  func offer(on ssl: OpaquePointer) {
    // A connection that ended by an alert spoils its session.
    if SSL_SESSION_is_resumable(session) == 1 { _ = SSL_set_session(ssl, session) }
  }
}
