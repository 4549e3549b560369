import CAPNS
import COpenSSL
import CSystem

/// One TLS connection over one socket. It never waits, except where noted, and never raises
/// SIGPIPE.
struct TLSConnection: ~Copyable {
  private let ssl: OpaquePointer
  private let method: OpaquePointer
  private let state: UnsafeMutablePointer<SocketState>
  /// Its progress: connecting, then the proxy's tunnel, then the handshake.
  private var dialing: Dialing?
  private var tunnel: ProxyTunnel?
  private var isOpen = false
  /// When it must be open.
  let deadline: Deadline
  /// Set while nothing may be sent to the peer.
  private var isSilent = true
  /// OpenSSL's errors when reading or writing failed.
  private var brokenBy = TLSErrors.none
  private var isFlooded = false
  /// Counts bytes that were read and carried nothing.
  private var idle = IdleBytes()
  /// The number of the offered session; 0: none.
  private let offer: UInt32

  /// Starts a connection to the address `known`, or to any address of the name, `preferred` first.
  @inline(never)
  static func begin(
    to endpoint: borrowing Endpoint, trusting trust: borrowing TrustContext,
    resuming offer: borrowing TLSOffer, at known: PeerAddress?,
    preferring preferred: PeerAddress? = nil, by deadline: Deadline
  ) throws(Failure) -> TLSConnection {
    let dialing: Dialing
    do throws(Failure) {
      dialing = try endpoint.dial(known, preferring: preferred, by: deadline)
    } catch {
      throw endpoint.explain(error)
    }
    guard
      let state = malloc(MemoryLayout<SocketState>.size)?.bindMemory(
        to: SocketState.self, capacity: 1)
    else { throw .outOfMemory }
    state.initialize(to: SocketState())
    TLSErrors.clear()
    guard let method = SocketBIO.makeMethod() else {
      free(state)
      throw .outOfMemory
    }
    let ssl = SSL_new(trust.context)
    guard let ssl, let bio = SocketBIO.make(method, state) else {
      SSL_free(ssl)
      BIO_meth_free(method)
      free(state)
      throw .outOfMemory
    }
    SSL_set_bio(ssl, bio, bio)
    copenssl_set_state(ssl, state)
    copenssl_set_write_mode(ssl)
    let connection = TLSConnection(
      ssl: ssl, method: method, state: state, dialing: dialing, offer: offer.make(on: ssl),
      deadline: deadline)
    try connection.expectPeer(named: endpoint)
    #if APNS_HTTP2
      if endpoint.speaksHTTP2 {
        guard copenssl_offer_http2(ssl) == 1 else { throw .outOfMemory }
        copenssl_watch_extensions(ssl, noteProtocol, state)
        // Answers are short records, and many arrive at once.
        SSL_set_read_ahead(ssl, 1)
      }
    #endif
    return connection
  }

  private init(
    ssl: OpaquePointer, method: OpaquePointer, state: UnsafeMutablePointer<SocketState>,
    dialing: consuming Dialing, offer: UInt32, deadline: Deadline
  ) {
    self.ssl = ssl
    self.method = method
    self.state = state
    self.dialing = consume dialing
    self.offer = offer
    self.deadline = deadline
  }

  deinit {
    if !isSilent {
      // Unread data would make the kernel reset the connection and destroy data on its way to the
      // peer.
      TLSErrors.clear()
      _ = SSL_shutdown(ssl)
      csystem_discard(state.pointee.descriptor, Self.maxUnread)
    }
    SSL_free(ssl)
    TLSErrors.clear()
    BIO_meth_free(method)
    if state.pointee.descriptor >= 0 { _ = CSystem.close(state.pointee.descriptor) }
    free(state)
  }

  /// As much as a socket holds, and no more: we do not wait for a peer that keeps sending.
  private static let maxUnread = 8 << 20

  /// Keeps the TLS session, which saves work for the next connection to the same peer, or drops a
  /// session that did not help. Call this when the connection is no longer used.
  @inline(never)
  func keepSession(in offer: inout TLSOffer) {
    // Only a complete handshake has verified the peer. An error since then, the peer's alert or
    // ours, means that something is wrong with what both sides agreed on.
    if isOpen, !isFlooded, brokenBy.code == 0 {
      if let mine = TLSSession(of: ssl) { offer.renew(with: mine) }
    } else {
      forget(in: &offer)
    }
  }

  /// It was made with these credentials.
  func uses(_ trust: borrowing TrustContext) -> Bool { SSL_get_SSL_CTX(ssl) == trust.context }

  /// Drops the session that this connection offered, if any: it did not help.
  @inline(never)
  private func forget(in offer: inout TLSOffer) {
    if self.offer != 0, isOpen || hasBegunHandshake { offer.forget(self.offer) }
  }

  /// Something was sent over TLS, or may have been.
  private var hasBegunHandshake: Bool { SSL_in_before(ssl) == 0 }

  /// It ended during a handshake with an offer, and the offer may be to blame: a retry without it
  /// makes sense. False if time or memory ran out or the peer's certificate is to blame.
  func failedByOffer(_ status: apns_status_t) -> Bool {
    offer != 0 && !isOpen && hasBegunHandshake && state.pointee.peerFault.code == 0
      && (status == APNS_ERR_TLS || status == APNS_ERR_NETWORK)
  }

  /// The peer accepted the offered session.
  var wasResumed: Bool { offer != 0 && SSL_session_reused(ssl) == 1 }

  /// TLS 1.3 or later.
  var speaksNewestTLS: Bool { SSL_version(ssl) >= TLS1_3_VERSION }

  /// The descriptor to wait for; -1 without one.
  var descriptor: CInt {
    switch dialing {
    case .some(let dialing): dialing.pending
    case nil: state.pointee.descriptor
    }
  }

  /// The peer's address; nil before there is a connection.
  var address: PeerAddress? { PeerAddress(of: state.pointee.descriptor) }

  /// Sends nothing more to the peer, not even close_notify: the connection belongs to another
  /// process, or is broken.
  mutating func silence() { isSilent = true }

  // MARK: Opening

  /// Opens the connection as far as possible without waiting. After a failure the connection can no
  /// longer be used.
  @inline(never)
  mutating func advance(_ endpoint: borrowing Endpoint) throws(Failure) -> Progress {
    if isOpen { return .open }
    do throws(Failure) {
      return try advanceOpening(endpoint)
    } catch {
      throw endpoint.explain(error)
    }
  }

  private mutating func advanceOpening(
    _ endpoint: borrowing Endpoint
  ) throws(Failure) -> Progress {
    switch dialing?.advance() {
    case .waits(let wanted, let time): return .waits(wanted, until: time)
    case .failed(let systemError): throw endpoint.unreachable(systemError)
    case .unresolved(let failure): throw failure
    case .connected(let descriptor):
      dialing = nil
      state.pointee.descriptor = descriptor
      tunnel = try endpoint.tunnel()
    case nil: break
    }
    if let wanted = try tunnel?.advance(on: state.pointee.descriptor, to: endpoint) {
      guard deadline.hasPassed else { return .waits(wanted, until: deadline) }
      throw Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_PROXY_TIMEOUT) {
        endpoint.appendProxy(to: &$0)
        $0.append(" took too long to connect to ")
        endpoint.append(to: &$0)
      }
    }
    tunnel = nil
    if let wanted = try shakeHands(endpoint) { return .waits(wanted, until: deadline) }
    #if APNS_HTTP2
      if endpoint.speaksHTTP2, copenssl_has_http2(ssl) == 0 {
        throw lacksHTTP2(endpoint)
      }
    #endif
    isOpen = true
    isSilent = false
    return .open
  }

  @inline(never)
  private func expectPeer(named endpoint: borrowing Endpoint) throws(Failure) {
    let name = endpoint.serverName
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1
    TLSErrors.clear()
    if isAddress { return }
    // RFC 6066 allows no addresses in SNI.
    guard SSL_set1_host(ssl, name) == 1, copenssl_set_server_name(ssl, name) == 1 else {
      throw TLSErrors.take().failure(APNS_ERR_ARGUMENT) {
        $0.append("not a name that a certificate can have: ")
        $0.append(name)
      }
    }
  }

  /// Nil when the handshake is complete, else what to wait for.
  private mutating func shakeHands(_ endpoint: borrowing Endpoint) throws(Failure) -> Readiness? {
    TLSErrors.clear()
    state.pointee.allowance = SocketState.wholeAllowance
    let result = SSL_connect(ssl)
    idle.read(SocketState.wholeAllowance &- state.pointee.allowance, of: 0)
    state.pointee.noteMemory()
    if result == 1 {
      // Without memory OpenSSL may have shown no certificate, and the peer complains only later.
      if state.pointee.ranOut { throw handshakeFailure(endpoint) }
      TLSErrors.clear()
      idle = IdleBytes()
      return nil
    }
    if idle.isFloodOfHandshakes { throw flood }
    let wanted: Readiness
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: wanted = .reading
    case SSL_ERROR_WANT_WRITE: wanted = .writing
    default: throw handshakeFailure(endpoint)
    }
    guard deadline.hasPassed else { return wanted }
    throw Failure(APNS_ERR_TIMEOUT, cause: APNS_CAUSE_HANDSHAKE_TIMEOUT) {
      $0.append("the TLS handshake with ")
      endpoint.append(to: &$0)
      $0.append(" took too long")
    }
  }

  @inline(never)
  private func lacksHTTP2(_ endpoint: borrowing Endpoint) -> Failure {
    Failure(APNS_ERR_PROTOCOL, cause: APNS_CAUSE_NO_HTTP2) {
      $0.append("the service does not speak HTTP/2")
      if state.pointee.otherProtocol.count > 0 {
        $0.append(" but ")
        $0.append(state.pointee.otherProtocol)
      }
      $0.append(": ")
      endpoint.append(to: &$0)
    }
  }

  private func handshakeFailure(_ endpoint: borrowing Endpoint) -> Failure {
    let errors = TLSErrors.take()
    if state.pointee.otherProtocol.count > 0, errors.alert == nil { return lacksHTTP2(endpoint) }
    let fault = state.pointee.peerFault
    if fault.systemError != 0 {
      return Failure(APNS_ERR_NETWORK, systemError: fault.systemError) {
        $0.append("the files to verify ")
        endpoint.append(to: &$0)
        $0.append(" with cannot be opened")
      }
    }
    if isExhausted(errors) {
      return errors.exhausted {
        $0.append("the TLS handshake with ")
        endpoint.append(to: &$0)
        $0.append(" failed")
      }
    }
    if fault.code != 0 {
      var failure = Failure(APNS_ERR_TLS, cause: fault.cause) {
        $0.append(fault, host: endpoint.serverName)
      }
      failure.tlsCode = errors.code
      return failure
    }
    if state.pointee.systemError != 0 {
      return explain(
        Failure(
          APNS_ERR_NETWORK, systemError: state.pointee.systemError,
          cause: APNS_CAUSE_HANDSHAKE_ENDED
        ) {
          $0.append("the connection broke during the TLS handshake: ")
          endpoint.append(to: &$0)
        })
    }
    if state.pointee.hasEnded && (errors.code == 0 || errors.isEndWithoutClose) {
      return explain(
        Failure(APNS_ERR_NETWORK, cause: APNS_CAUSE_HANDSHAKE_ENDED) {
          $0.append("the peer closed the connection during the TLS handshake: ")
          endpoint.append(to: &$0)
        })
    }
    let failure = errors.failure(APNS_ERR_TLS, cause: errors.cause) {
      $0.append("the TLS handshake with ")
      endpoint.append(to: &$0)
      $0.append(" failed")
    }
    return errors.mayMissCertificate ? explain(failure) : failure
  }

  /// Adds to the message if the peer requested a certificate and was shown none.
  @inline(never)
  private func explain(_ failure: Failure) -> Failure {
    guard state.pointee.lacksCertificate else { return failure }
    var longer = failure.saying {
      $0.append("; no certificate was shown, though the peer asked for one")
    }
    // Once the connection is open, handshake_failure does not concern a certificate.
    if failure.status == APNS_ERR_TLS, !isOpen || failure.refusesProvider {
      longer.cause = APNS_CAUSE_CERTIFICATE_WANTED
    }
    return longer
  }

  /// Memory ran out: OpenSSL reports it, or nothing because that takes memory too.
  private func isExhausted(_ errors: TLSErrors) -> Bool {
    errors.isExhausted || errors.isInternal || state.pointee.ranOut
      || state.pointee.peerFault.code == X509_V_ERR_OUT_OF_MEM
      || errors.code == 0 && state.pointee.systemError == 0 && !state.pointee.hasEnded
        && state.pointee.peerFault.code == X509_V_OK
  }

  private var flood: Failure {
    Failure(
      APNS_ERR_PROTOCOL, "the peer floods the connection with TLS records that carry nothing",
      cause: APNS_CAUSE_FLOOD)
  }

  // MARK: Reading and writing

  /// Reads what is there, without waiting.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    TLSErrors.clear()
    var count = 0
    state.pointee.allowance = SocketState.wholeAllowance
    let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
    idle.read(SocketState.wholeAllowance &- state.pointee.allowance, of: count)
    if result == 1 { return .bytes(count) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
      guard idle.isFlood else { return .nothing }
      isFlooded = true
      isSilent = true
      return .broken
    case SSL_ERROR_ZERO_RETURN: return .end
    default:
      let errors = TLSErrors.take()
      isSilent = true
      if state.pointee.hasEnded, state.pointee.systemError == 0,
        errors.code == 0 || errors.isEndWithoutClose
      {
        return .end
      }
      brokenBy = errors
      return .broken
    }
  }

  /// Writes a TLS record to the socket as far as possible without waiting. After `full`, the next
  /// write must begin with the same bytes.
  mutating func write(_ bytes: UnsafeRawBufferPointer) -> Writing {
    TLSErrors.clear()
    var count = 0
    state.pointee.allowance = SocketState.wholeAllowance
    let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
    if result == 1 { return .bytes(count) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_WRITE: return .full
    case SSL_ERROR_WANT_READ: return .needsReading
    default:
      isSilent = true
      brokenBy = TLSErrors.take()
      return .broken
    }
  }

  func wait(for wanted: Readiness, _ deadline: Deadline) -> Readiness? {
    Readiness.wait(for: wanted, on: descriptor, until: deadline)
  }

  mutating func look(for wanted: Readiness) -> Readiness? {
    Readiness.look(for: wanted, on: descriptor)
  }

  /// Why reading or writing failed.
  @inline(never)
  func failure() -> Failure {
    let errors = brokenBy
    if isFlooded { return flood }
    if isExhausted(errors) {
      return errors.exhausted { $0.append("the connection broke") }
    }
    if errors.alert != nil {
      // On a resumed connection an alert may not concern the provider: the next connection, which
      // is not resumed, will show it.
      if wasResumed {
        return errors.failure(APNS_ERR_NETWORK, cause: APNS_CAUSE_ALERT) {
          $0.append("the peer ended a resumed connection")
        }
      }
      let failure = errors.failure(APNS_ERR_TLS, cause: errors.cause) {
        $0.append("the peer ended the connection")
      }
      return errors.mayMissCertificate ? explain(failure) : failure
    }
    if state.pointee.systemError != 0 {
      return Failure(
        APNS_ERR_NETWORK, "the connection broke", systemError: state.pointee.systemError)
    }
    if errors.code != 0 {
      return errors.failure(APNS_ERR_TLS) { $0.append("the connection broke") }
    }
    return Failure(APNS_ERR_NETWORK, "the connection ended")
  }

  // MARK: Closing

  /// Closes writing without destroying sent data. The peer's data can still be read.
  @inline(never)
  mutating func halfClose() {
    guard !isSilent else { return }
    TLSErrors.clear()
    _ = SSL_shutdown(ssl)
    TLSErrors.clear()
    _ = shutdown(state.pointee.descriptor, csystem_shut_wr())
  }
}
