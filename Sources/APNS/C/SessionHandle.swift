import CAPNS
import CSystem

/// A call of the C interface to a session of either protocol.
protocol SessionCall {
  associatedtype Result
  /// A closed session answers too.
  static var isForClosed: Bool { get }
  /// It may find outcomes, for the option `on_outcome`.
  static var findsOutcomes: Bool { get }

  func perform(
    on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) -> Result
}

extension SessionCall {
  static var isForClosed: Bool { false }
  static var findsOutcomes: Bool { true }
}

/// A call that changes nothing of the session's work, maybe from another thread.
protocol SessionReading: SessionCall {}

extension SessionReading {
  static var isForClosed: Bool { true }
  static var findsOutcomes: Bool { false }
}

/// Passes a call on to the session, if this process made it and, unless the call is for closed ones
/// too, nobody has closed it.
@inline(__always)
func pass<Call: SessionCall>(
  _ call: Call, to session: OpaquePointer?
) throws(Failure) -> Call.Result {
  try ownSession(session).pass(call)
}

/// The session, if this process made it.
@inline(__always)
func ownSession(_ session: OpaquePointer?) throws(Failure) -> SessionHandle {
  guard let session else { throw isNull("session") }
  let own = SessionHandle(session)
  if own.isForeign {
    throw Failure(APNS_ERR_FORKED, "the session was made by the parent process")
  }
  return own
}

/// The object of an `apns_session_t`: a head, followed by the session.
struct SessionHandle {
  private let head: UnsafeMutablePointer<SessionHead>

  @inline(__always)
  init(_ handle: OpaquePointer) { head = UnsafeMutablePointer<SessionHead>(handle) }

  var isForeign: Bool {
    @inline(__always) get { !head.pointee.origin.isHere }
  }

  /// The session, of the kind that was stored.
  private enum Kind {
    #if APNS_BINARY
      case binary(UnsafeMutablePointer<BinarySession<TLSNetwork>>)
    #endif
    #if APNS_HTTP2
      case http2(UnsafeMutablePointer<HTTP2Session<TLSNetwork, ProviderToken>>)
    #endif
  }

  private var kind: Kind {
    @inline(__always) get {
      #if APNS_HTTP2
        #if APNS_BINARY
          guard head.pointee.speaksHTTP2 else { return .binary(session()) }
        #endif
        return .http2(session())
      #else
        return .binary(session())
      #endif
    }
  }

  @inline(__always)
  private func session<S: ~Copyable>() -> UnsafeMutablePointer<S> {
    UnsafeMutableRawPointer(head + 1).assumingMemoryBound(to: S.self)
  }

  /// Held by the thread that works on the session, but not while it waits for a connection.
  private var lock: UnsafeMutablePointer<UInt> {
    @inline(__always) get { SessionHead.lock(head) }
  }

  @inline(__always)
  private func lockForCall() throws(Failure) {
    guard csystem_claim(lock) != 0 else {
      throw Failure(APNS_ERR_ARGUMENT, "called from a callback of the same session")
    }
  }

  @inline(__always)
  private func unlock() { csystem_release(lock) }

  @inline(__always)
  fileprivate func pass<Call: SessionCall>(_ call: Call) throws(Failure) -> Call.Result {
    try lockForCall()
    defer { unlock() }
    return try passUnlocked(call)
  }

  /// The only place that distinguishes the kinds.
  @inline(__always)
  func passUnlocked<Call: SessionCall>(_ call: Call) throws(Failure) -> Call.Result {
    switch kind {
    #if APNS_BINARY
      case .binary(let session): try Self.pass(call, to: session)
    #endif
    #if APNS_HTTP2
      case .http2(let session): try Self.pass(call, to: session)
    #endif
    }
  }

  @inline(__always)
  private static func pass<Call: SessionCall>(
    _ call: Call, to session: UnsafeMutablePointer<some ProviderSession & ~Copyable>
  ) throws(Failure) -> Call.Result {
    if !Call.isForClosed, session.pointee.isClosing { throw Self.closed }
    defer { if Call.findsOutcomes { session.pointee.deliver() } }
    return try call.perform(on: session)
  }

  private static var closed: Failure { Failure(APNS_ERR_CLOSED, "the session was closed") }

  /// Makes the session's next connections with other credentials.
  func use(_ credentials: OpaquePointer?) throws(Failure) {
    let trust = try share(credentials)
    try lockForCall()
    defer { unlock() }
    switch kind {
    #if APNS_BINARY
      case .binary(let session):
        if session.pointee.isClosing { throw Self.closed }
        try requireCertificate(credentials)
        guard session.pointee.network.use(trust) else { return }
        session.pointee.replaceConnections()
    #endif
    #if APNS_HTTP2
      case .http2(let session):
        if session.pointee.isClosing { throw Self.closed }
        if session.pointee.network.needsIdentity { try requireIdentity(credentials) }
        let tokens = shareToken(credentials)
        try session.pointee.requireTopics(for: tokens)
        guard session.pointee.network.use(trust) else { return }
        session.pointee.defaults.use(certificateTopics(of: credentials))
        session.pointee.replaceConnections(tokens)
    #endif
    }
  }

  func limitConnections(to maximum: UInt32) throws(Failure) {
    try lockForCall()
    defer { unlock() }
    switch kind {
    #if APNS_BINARY
      case .binary:
        throw Failure(APNS_ERR_ARGUMENT, "the session speaks the binary interface")
    #endif
    #if APNS_HTTP2
      case .http2(let session):
        if session.pointee.isClosing { throw Self.closed }
        session.pointee.limitConnections(to: Int(maximum))
    #endif
    }
  }

  /// Takes a gone device; false without one.
  func takeGone(in told: inout apns_gone_device_t) throws(Failure) -> Bool {
    try lockForCall()
    defer { unlock() }
    #if APNS_HTTP2
      if let gone {
        return gone.pointee.take { token, timestamp in
          told.timestamp = Int64(timestamp)
          told.token_length = UInt32(truncatingIfNeeded: token.count)
          withUnsafeMutableBytes(of: &told.token) {
            $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: token.prefix($0.count)))
          }
        }
      }
    #endif
    throw Failure(
      APNS_ERR_ARGUMENT,
      "over the binary interface, the feedback service lists the devices that are gone")
  }

  #if APNS_HTTP2
    /// The gone devices, if the session gets reports of them.
    var gone: UnsafeMutablePointer<GoneDevices>? {
      switch kind {
      #if APNS_BINARY
        case .binary: nil
      #endif
      case .http2(let session): session.pointee.gone
      }
    }
  #endif

  // MARK: Beginning and ending

  #if APNS_BINARY
    static func store(
      _ make: () throws(Failure) -> BinarySession<TLSNetwork>
    ) throws(Failure) -> OpaquePointer {
      let (head, session) = try place(make, speaksHTTP2: false)
      session.pointee.network.lock = SessionHead.lock(head)
      return OpaquePointer(head)
    }
  #endif

  #if APNS_HTTP2
    static func store(
      _ make: () throws(Failure) -> HTTP2Session<TLSNetwork, ProviderToken>
    ) throws(Failure) -> OpaquePointer {
      let (head, session) = try place(make, speaksHTTP2: true)
      session.pointee.network.lock = SessionHead.lock(head)
      return OpaquePointer(head)
    }
  #endif

  /// Makes a session after the memory of its head.
  private static func place<S: ~Copyable>(
    _ make: () throws(Failure) -> S, speaksHTTP2: Bool
  ) throws(Failure) -> (UnsafeMutablePointer<SessionHead>, UnsafeMutablePointer<S>) {
    let headSize = MemoryLayout<SessionHead>.stride
    guard let memory = malloc(headSize &+ MemoryLayout<S>.size) else { throw .outOfMemory }
    let session = (memory + headSize).bindMemory(to: S.self, capacity: 1)
    do throws(Failure) {
      session.initialize(to: try make())
    } catch {
      free(memory)
      throw error
    }
    let head = memory.bindMemory(to: SessionHead.self, capacity: 1)
    head.initialize(to: SessionHead(speaksHTTP2: speaksHTTP2))
    return (head, session)
  }

  func discard() {
    // Not from a callback of the session, and no callback calls the session meanwhile.
    if !isForeign, csystem_claim(lock) == 0 { return }
    #if APNS_BINARY
      if let ssl = head.pointee.ssl { APNS.discard(ssl) }
    #endif
    try? passUnlocked(End(isForeign: isForeign))
    head.deinitialize(count: 1)
    free(head)
  }

  #if APNS_BINARY
    /// The SSL that represents the session. The first call makes it; every call returns the same one.
    func ssl() throws(Failure) -> OpaquePointer {
      if let ssl = head.pointee.ssl { return ssl.pointee.ssl }
      let made = try APNS.place { () throws(Failure) in
        try SessionSSL(of: OpaquePointer(head))
      }
      head.pointee.ssl = made
      return made.pointee.ssl
    }
  #endif
}

/// The C interface's part of a session.
private struct SessionHead: ~Copyable {
  /// The thread that works on the session, or 0; `lock` finds it at the beginning.
  private var owner: UInt = 0
  let speaksHTTP2: Bool
  let origin = ProcessOrigin()
  #if APNS_BINARY
    /// Represents the session where only an `SSL` is known.
    var ssl: UnsafeMutablePointer<SessionSSL>?
  #endif

  init(speaksHTTP2: Bool) { self.speaksHTTP2 = speaksHTTP2 }

  @inline(__always)
  static func lock(_ head: UnsafeMutablePointer<SessionHead>) -> UnsafeMutablePointer<UInt> {
    UnsafeMutableRawPointer(head).assumingMemoryBound(to: UInt.self)
  }
}

private struct End: SessionReading {
  let isForeign: Bool

  func perform(on session: UnsafeMutablePointer<some ProviderSession & ~Copyable>) {
    if isForeign { session.pointee.silence() }
    session.deinitialize(count: 1)
  }
}
