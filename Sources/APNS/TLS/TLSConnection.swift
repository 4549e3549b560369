import CAPNS
import COpenSSL
import CSystem

/// One TLS connection over one socket: it may wait, but never past a deadline,
/// and never raises SIGPIPE.
struct TLSConnection: ~Copyable {
  private let ssl: OpaquePointer
  private let method: OpaquePointer
  private let state: UnsafeMutablePointer<SocketState>
  /// Set once nothing may be said to the peer any more.
  private var isSilent = false

  /// Connects, shakes hands and verifies the peer.
  static func open(
    to endpoint: borrowing Endpoint, trusting trust: borrowing TrustContext,
    resuming session: borrowing TLSSession? = nil, by deadline: Deadline
  ) throws(Failure) -> TLSConnection {
    let descriptor = try endpoint.connect(deadline)
    guard
      let state = malloc(MemoryLayout<SocketState>.size)?.bindMemory(
        to: SocketState.self, capacity: 1)
    else {
      _ = CSystem.close(descriptor)
      throw .outOfMemory
    }
    state.initialize(to: SocketState(descriptor: descriptor))
    TLSErrors.clear()
    guard let method = SocketBIO.makeMethod() else {
      _ = CSystem.close(descriptor)
      free(state)
      throw .outOfMemory
    }
    let ssl = SSL_new(trust.context)
    guard let ssl, let bio = SocketBIO.make(method, state) else {
      SSL_free(ssl)
      _ = CSystem.close(descriptor)
      BIO_meth_free(method)
      free(state)
      throw .outOfMemory
    }
    SSL_set_bio(ssl, bio, bio)
    copenssl_set_state(ssl, state)
    copenssl_set_write_mode(ssl)
    session?.offer(on: ssl)
    var connection = TLSConnection(ssl: ssl, method: method, state: state)
    try connection.expectPeer(named: endpoint)
    try connection.shakeHands(endpoint, deadline)
    return connection
  }

  private init(
    ssl: OpaquePointer, method: OpaquePointer, state: UnsafeMutablePointer<SocketState>
  ) {
    self.ssl = ssl
    self.method = method
    self.state = state
  }

  deinit {
    if !isSilent {
      // What lies unread would make the kernel reset the connection and destroy
      // what is still on its way to the peer.
      TLSErrors.clear()
      _ = SSL_shutdown(ssl)
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
        while csystem_receive(state.pointee.descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
    }
    SSL_free(ssl)
    TLSErrors.clear()
    BIO_meth_free(method)
    _ = CSystem.close(state.pointee.descriptor)
    free(state)
  }

  /// For the next connection to the same peer; to be asked for when this one is done with.
  var session: TLSSession? { TLSSession(of: ssl) }

  var descriptor: CInt { state.pointee.descriptor }

  /// Nothing is said to the peer any more, not even goodbye: the connection is
  /// another process's, or dead.
  mutating func silence() { isSilent = true }

  // MARK: Handshake

  private func expectPeer(named endpoint: borrowing Endpoint) throws(Failure) {
    let name = endpoint.serverName
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1
    TLSErrors.clear()
    if isAddress { return }
    // RFC 6066 has no addresses in SNI.
    guard SSL_set1_host(ssl, name) == 1, copenssl_set_server_name(ssl, name) == 1 else {
      throw TLSErrors.take().failure(APNS_ERR_ARGUMENT) {
        $0.append("no name for a certificate: ")
        $0.append(name)
      }
    }
  }

  private mutating func shakeHands(
    _ endpoint: borrowing Endpoint, _ deadline: Deadline
  ) throws(Failure) {
    while true {
      TLSErrors.clear()
      let result = SSL_connect(ssl)
      if result == 1 {
        TLSErrors.clear()
        return
      }
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ where wait(for: .reading, deadline) != nil: continue
      case SSL_ERROR_WANT_WRITE where wait(for: .writing, deadline) != nil: continue
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
        isSilent = true
        throw Failure(APNS_ERR_TIMEOUT) {
          $0.append("the TLS handshake took too long with ")
          endpoint.append(to: &$0)
        }
      default:
        isSilent = true
        throw handshakeFailure(endpoint)
      }
    }
  }

  private func handshakeFailure(_ endpoint: borrowing Endpoint) -> Failure {
    let errors = TLSErrors.take()
    let fault = state.pointee.peerFault
    if fault.code != 0 {
      var failure = Failure(APNS_ERR_TLS) { $0.append(fault, host: endpoint.serverName) }
      failure.tlsCode = errors.code
      return failure
    }
    if state.pointee.systemError != 0 {
      return Failure(APNS_ERR_NETWORK, systemError: state.pointee.systemError) {
        $0.append("the TLS handshake broke off with ")
        endpoint.append(to: &$0)
      }
    }
    if state.pointee.hasEnded && (errors.code == 0 || errors.isEndWithoutClose) {
      return Failure(APNS_ERR_NETWORK) {
        $0.append("the peer closed during the TLS handshake: ")
        endpoint.append(to: &$0)
      }
    }
    return errors.failure(APNS_ERR_TLS) {
      $0.append("the TLS handshake failed with ")
      endpoint.append(to: &$0)
    }
  }

  // MARK: Reading and writing

  /// What came of looking into the connection.
  enum Reading {
    case bytes(Int)
    /// Nothing there now.
    case nothing
    /// The peer said goodbye, or at least ended its stream.
    case end
    /// It broke: a reset, an alert, noise.
    case broken(Failure)
  }

  /// What came of trying to write.
  enum Writing {
    case bytes(Int)
    /// The peer takes no more now.
    case full
    /// It has to be read from first (a renegotiation).
    case needsReading
    case broken(Failure)
  }

  /// Takes what is there without waiting.
  mutating func read(into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    TLSErrors.clear()
    var count = 0
    let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
    if result == 1 { return .bytes(count) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .nothing
    case SSL_ERROR_ZERO_RETURN: return .end
    default:
      let errors = TLSErrors.take()
      isSilent = true
      if state.pointee.systemError == 0, errors.code == 0 || errors.isEndWithoutClose {
        return .end
      }
      return .broken(brokenFailure(errors))
    }
  }

  /// Hands a record to the socket as far as it goes without waiting. After
  /// `full` the same bytes, or more, have to come first again.
  mutating func write(_ bytes: UnsafeRawBufferPointer) -> Writing {
    TLSErrors.clear()
    var count = 0
    let result = SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &count)
    if result == 1 { return .bytes(count) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_WRITE: return .full
    case SSL_ERROR_WANT_READ: return .needsReading
    default:
      isSilent = true
      return .broken(brokenFailure(TLSErrors.take()))
    }
  }

  func wait(for wanted: Readiness, _ deadline: Deadline) -> Readiness? {
    Readiness.wait(for: wanted, on: state.pointee.descriptor, until: deadline)
  }

  func look(for wanted: Readiness) -> Readiness? {
    Readiness.look(for: wanted, on: state.pointee.descriptor)
  }

  private func brokenFailure(_ errors: TLSErrors) -> Failure {
    if errors.alert != nil {
      return errors.failure(APNS_ERR_TLS) { $0.append("the peer ended the connection") }
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

  /// Says goodbye and waits for the peer's, so that nothing sent is destroyed.
  /// What still comes is handed to `take`.
  mutating func close(by deadline: Deadline, take: (UnsafeRawBufferPointer) -> Void) {
    guard !isSilent else { return }
    TLSErrors.clear()
    _ = SSL_shutdown(ssl)
    _ = shutdown(descriptor, csystem_shut_wr())
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
      while true {
        switch read(into: buffer) {
        case .bytes(let count): take(UnsafeRawBufferPointer(rebasing: buffer[0..<count]))
        case .nothing: if wait(for: .reading, deadline) == nil { return }
        case .end, .broken: return
        }
      }
    }
    TLSErrors.clear()
  }
}
