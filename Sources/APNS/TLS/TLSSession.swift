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

  /// Offers it in the handshake to come; a peer that has forgotten it makes a full one. False
  /// where that cannot be.
  func offer(on ssl: OpaquePointer) -> Bool {
    // A connection that ended by an alert spoils its session.
    SSL_SESSION_is_resumable(session) == 1 && SSL_set_session(ssl, session) == 1
  }
}

/// The session that the next connection offers, left by the last one that worked.
///
/// An offer is a favour, and one that does harm is withdrawn: a peer that cannot resume, and
/// ends the handshake instead of going on without, is connected to once more and not offered
/// that session again.
struct TLSOffer: ~Copyable {
  private var session: TLSSession?
  /// Counts the sessions, so that one is known again; 0: none was there yet.
  private var number: UInt32 = 0
  /// Offers in a row that ended a handshake.
  private var harmful = 0

  /// A peer that never could is offered no more: each offer would cost a connection.
  private static let mostHarmful = 3

  /// Makes the offer on a connection. The session's number; 0: none is offered.
  func make(on ssl: OpaquePointer) -> UInt32 {
    switch session {
    case .some(let session): session.offer(on: ssl) ? number : 0
    case nil: 0
    }
  }

  mutating func renew(with session: consuming TLSSession) {
    guard harmful < Self.mostHarmful else { return }
    self.session = consume session
    number = number == .max ? 1 : number &+ 1
  }

  /// The session of that number was offered and did not serve.
  mutating func forget(_ number: UInt32) {
    if number == self.number { session = nil }
  }

  mutating func didHarm() { harmful = min(harmful &+ 1, Self.mostHarmful) }
  mutating func served() { harmful = 0 }
}
