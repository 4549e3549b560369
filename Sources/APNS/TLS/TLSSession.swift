import COpenSSL

/// A connection's session for the next one to the same peer. It saves both sides the costly part of
/// the handshake.
struct TLSSession: ~Copyable {
  private let session: OpaquePointer

  /// Nil if the peer gave nothing to resume.
  init?(of ssl: OpaquePointer) {
    guard let session = SSL_get1_session(ssl) else { return nil }
    self.session = session
  }

  deinit { SSL_SESSION_free(session) }

  /// Offers the session in the coming handshake; a peer that has forgotten it makes a full one.
  /// False if the session cannot be offered.
  func offer(on ssl: OpaquePointer) -> Bool {
    // A connection that ended with an alert spoils its session.
    SSL_SESSION_is_resumable(session) == 1 && SSL_set_session(ssl, session) == 1
  }
}

/// The session that the next connection offers, kept from the last working connection.
///
/// An offer is optional, and a harmful one is withdrawn: if a peer cannot resume and ends the
/// handshake instead of continuing without the session, we connect once more and do not offer that
/// session again.
struct TLSOffer: ~Copyable {
  private var session: TLSSession?
  /// Numbers the sessions, to recognise one later; 0 before the first.
  private var number: UInt32 = 0
  /// Offers in a row that ended a handshake.
  private var harmful = 0

  /// After this many the peer gets no more offers: each would cost a connection.
  private static let maxHarmful = 3

  /// Makes the offer on a connection. Returns the session's number; 0: none is offered.
  func make(on ssl: OpaquePointer) -> UInt32 {
    switch session {
    case .some(let session): session.offer(on: ssl) ? number : 0
    case nil: 0
    }
  }

  mutating func renew(with session: consuming TLSSession) {
    guard harmful < Self.maxHarmful else { return }
    self.session = consume session
    number = number == .max ? 1 : number &+ 1
  }

  /// The session with that number was offered and did not help.
  mutating func forget(_ number: UInt32) {
    if number == self.number { session = nil }
  }

  mutating func didHarm() { harmful = min(harmful &+ 1, Self.maxHarmful) }
  mutating func served() { harmful = 0 }
}
