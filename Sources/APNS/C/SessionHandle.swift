import CAPNS
import CSystem

/// What an `apns_session_t` is: a word that says which protocol the session speaks, and behind it
/// the session.
enum SessionHandle {
  case binary(UnsafeMutablePointer<BinarySession<TLSNetwork>>)
  #if APNS_HTTP2
    case http2(UnsafeMutablePointer<HTTP2Session<TLSNetwork, ProviderToken>>)
  #endif

  /// The word, and the SSL that stands for the session, or NULL.
  private static var headSize: Int { 16 }
  private static var sslOffset: Int { 8 }

  @inline(__always)
  init(_ handle: OpaquePointer) {
    let base = UnsafeMutableRawPointer(handle)
    let session = base + Self.headSize
    #if APNS_HTTP2
      if base.load(as: Int.self) != 0 {
        self = .http2(session.assumingMemoryBound(to: HTTP2Session<TLSNetwork, ProviderToken>.self))
        return
      }
    #endif
    self = .binary(session.assumingMemoryBound(to: BinarySession<TLSNetwork>.self))
  }

  static func store(
    _ make: () throws(Failure) -> BinarySession<TLSNetwork>
  ) throws(Failure) -> OpaquePointer {
    try store(word: 0, make)
  }

  #if APNS_HTTP2
    static func store(
      _ make: () throws(Failure) -> HTTP2Session<TLSNetwork, ProviderToken>
    ) throws(Failure) -> OpaquePointer {
      try store(word: 1, make)
    }
  #endif

  private static func store<S: ~Copyable>(
    word: Int, _ make: () throws(Failure) -> S
  ) throws(Failure) -> OpaquePointer {
    guard let base = malloc(headSize &+ MemoryLayout<S>.size) else { throw .outOfMemory }
    base.storeBytes(of: word, as: Int.self)
    base.storeBytes(of: nil, toByteOffset: sslOffset, as: UnsafeMutablePointer<SessionSSL>?.self)
    do throws(Failure) {
      (base + headSize).bindMemory(to: S.self, capacity: 1).initialize(to: try make())
    } catch {
      free(base)
      throw error
    }
    return OpaquePointer(base)
  }

  func discard() {
    switch self {
    case .binary(let session): Self.discard(session)
    #if APNS_HTTP2
      case .http2(let session): Self.discard(session)
    #endif
    }
  }

  private static func discard<S: ~Copyable>(_ session: UnsafeMutablePointer<S>) {
    let base = UnsafeMutableRawPointer(session) - headSize
    if let ssl = base.load(fromByteOffset: sslOffset, as: UnsafeMutablePointer<SessionSSL>?.self) {
      APNS.discard(ssl)
    }
    session.deinitialize(count: 1)
    free(base)
  }

  /// The SSL that stands for the session. The first call makes it; every call returns the same one.
  func ssl(_ handle: OpaquePointer) throws(Failure) -> OpaquePointer {
    let base = UnsafeMutableRawPointer(handle)
    if let ssl = base.load(
      fromByteOffset: Self.sslOffset, as: UnsafeMutablePointer<SessionSSL>?.self)
    {
      return ssl.pointee.ssl
    }
    let made = try place { () throws(Failure) in
      switch self {
      case .binary(let session):
        try SessionSSL(session.pointee.network.trust.context, of: handle)
      #if APNS_HTTP2
        case .http2(let session):
          try SessionSSL(session.pointee.network.trust.context, of: handle)
      #endif
      }
    }
    base.storeBytes(
      of: made, toByteOffset: Self.sslOffset, as: UnsafeMutablePointer<SessionSSL>.self)
    return made.pointee.ssl
  }

  // MARK: What both can do

  var isForeign: Bool {
    @inline(__always) get {
      switch self {
      case .binary(let session): !session.pointee.origin.isHere
      #if APNS_HTTP2
        case .http2(let session): !session.pointee.origin.isHere
      #endif
      }
    }
  }

  var isClosed: Bool {
    @inline(__always) get {
      switch self {
      case .binary(let session): session.pointee.isClosed || session.pointee.isLeaving
      #if APNS_HTTP2
        case .http2(let session): session.pointee.isClosed || session.pointee.isLeaving
      #endif
      }
    }
  }

  /// The connections belong to the parent process: this one must not send a byte on them.
  func leaveToParent() {
    switch self {
    case .binary(let session): session.pointee.network.silence()
    #if APNS_HTTP2
      case .http2(let session): session.pointee.network.silence()
    #endif
    }
  }

  func connect() throws(Failure) {
    switch self {
    case .binary(let session): try session.pointee.connect()
    #if APNS_HTTP2
      case .http2(let session): try session.pointee.connect()
    #endif
    }
  }

  func flush() throws(Failure) {
    switch self {
    case .binary(let session): try session.pointee.flush()
    #if APNS_HTTP2
      case .http2(let session): try session.pointee.flush()
    #endif
    }
  }

  func drain(milliseconds: Int32) throws(Failure) {
    switch self {
    case .binary(let session):
      try session.pointee.run(
        until: .ends, by: session.pointee.deadline(milliseconds: milliseconds))
    #if APNS_HTTP2
      case .http2(let session):
        try session.pointee.run(
          until: .ends, by: session.pointee.deadline(milliseconds: milliseconds))
    #endif
    }
  }

  /// Fills in the next event; false if there is none.
  func nextEvent(_ event: inout apns_event_t, milliseconds: Int32) throws(Failure) -> Bool {
    switch self {
    case .binary(let session):
      guard let next = try session.pointee.nextOutcome(milliseconds: milliseconds) else {
        return false
      }
      event.identifier = next.identifier
      event.user_data = next.userData
      Self.tell(next.outcome, &event)
    #if APNS_HTTP2
      case .http2(let session):
        // In a variable: the compiler cannot instrument the longer form for the thread sanitizer.
        let outbox = session.pointee.outbox
        guard try session.pointee.awaitOutcome(milliseconds: milliseconds),
          let slot = outbox.pointee.firstOutcome
        else { return false }
        let entry = outbox.pointee.entries + slot
        event.identifier = entry.pointee.identifier
        event.user_data = entry.pointee.userData
        Self.tell(entry.pointee.outcome, &event)
        session.pointee.tellAnswer(slot, &event)
        outbox.pointee.tookOutcome()
    #endif
    }
    return true
  }

  private static func tell(_ outcome: Outcome, _ event: inout apns_event_t) {
    switch outcome {
    case .accepted: event.kind = Int32(bitPattern: APNS_EVENT_ACCEPTED.rawValue)
    case .rejected(let reject):
      event.kind = Int32(bitPattern: APNS_EVENT_REJECTED.rawValue)
      event.reject = Int32(reject)
    case .unknown: event.kind = Int32(bitPattern: APNS_EVENT_UNKNOWN.rawValue)
    }
  }

  var unresolved: Int {
    switch self {
    case .binary(let session): session.pointee.unresolved
    #if APNS_HTTP2
      case .http2(let session): session.pointee.outbox.pointee.unresolved
    #endif
    }
  }

  func close(milliseconds: Int32) -> Bool {
    switch self {
    case .binary(let session):
      session.pointee.close(by: session.pointee.deadline(milliseconds: milliseconds))
    #if APNS_HTTP2
      case .http2(let session):
        session.pointee.close(by: session.pointee.deadline(milliseconds: milliseconds))
    #endif
    }
  }

  func count(into stats: inout apns_session_stats_t) {
    switch self {
    case .binary(let session): session.pointee.count(into: &stats)
    #if APNS_HTTP2
      case .http2(let session): session.pointee.count(into: &stats)
    #endif
    }
  }

  /// The notifications taken with SEND_MORE fill a record.
  var hasFullRecord: Bool {
    @inline(__always) get {
      switch self {
      case .binary(let session): session.pointee.hasFullRecord
      #if APNS_HTTP2
        case .http2(let session): session.pointee.hasFullRecord
      #endif
      }
    }
  }

  @inline(__always)
  func write(all: Bool) throws(Failure) {
    switch self {
    case .binary(let session): try session.pointee.write(all: all)
    #if APNS_HTTP2
      case .http2(let session): try session.pointee.write(all: all)
    #endif
    }
  }
}
