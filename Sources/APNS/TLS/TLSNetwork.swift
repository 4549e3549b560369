import CAPNS
import CSystem

/// The real network: TLS connections to one endpoint, and the system's clock.
struct TLSNetwork: Network, ~Copyable {
  private let endpoint: Endpoint
  private var trust: TrustContext
  private let count: Int
  private let connections: UnsafeMutablePointer<TLSConnection?>
  /// The descriptors to watch with the last wait's results, one entry for each connection.
  private let watches: UnsafeMutablePointer<pollfd>
  /// For a session that never waits.
  private var events: EventDescriptor?
  /// Kept from the last connection for the next.
  private var resumption = TLSOffer()
  /// Where the last connection was opened.
  private var address: PeerAddress?
  private var seed: UInt64
  private(set) var handshakes = Handshakes()
  /// The session's lock, which is free while this waits.
  var lock: UnsafeMutablePointer<UInt>?

  init(
    connections count: Int, to endpoint: consuming Endpoint, trusting trust: consuming TrustContext,
    neverWaits: Bool
  ) throws(Failure) {
    let events = neverWaits ? try EventDescriptor(connections: count) : nil
    guard
      let connections = malloc(count &* MemoryLayout<TLSConnection?>.stride)?
        .bindMemory(to: TLSConnection?.self, capacity: count)
    else { throw .outOfMemory }
    guard
      let watches = malloc(count &* MemoryLayout<pollfd>.stride)?
        .bindMemory(to: pollfd.self, capacity: count)
    else {
      free(connections)
      throw .outOfMemory
    }
    self.endpoint = endpoint
    self.trust = trust
    self.count = count
    self.connections = connections
    self.watches = watches
    self.events = events
    for number in 0..<count { (connections + number).initialize(to: nil) }
    watches.initialize(repeating: pollfd(fd: -1, events: 0, revents: 0), count: count)
    seed = UInt64(bitPattern: Deadline.now) ^ UInt64(UInt(bitPattern: connections))
  }

  deinit {
    connections.deinitialize(count: count)
    free(connections)
    free(watches)
  }

  var now: Nanoseconds { Deadline.now }
  var lately: Nanoseconds { csystem_monotonic_lately_ns() }

  /// Spreads the reconnects of many providers; no secret depends on it.
  @inline(never)
  mutating func random() -> UInt64 {
    seed &+= 0x9E37_79B9_7F4A_7C15
    var mixed = seed
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  /// The next connections use other credentials, and offer no TLS session that the old ones made.
  /// False if they are the same.
  @inline(never)
  mutating func use(_ trust: consuming TrustContext) -> Bool {
    if trust.context == self.trust.context { return false }
    self.trust = trust
    resumption = TLSOffer()
    return true
  }

  @inline(never)
  mutating func open(_ number: Int, isStandby: Bool, by deadline: Nanoseconds) throws(Failure) {
    do throws(Failure) {
      connections[number] = try TLSConnection.begin(
        to: endpoint, trusting: trust, resuming: resumption, at: isStandby ? address : nil,
        preferring: address, by: Deadline(nanoseconds: deadline))
    } catch {
      failed(error)
      throw error
    }
  }

  @inline(never)
  mutating func advance(_ number: Int) throws(Failure) -> Opening {
    // Each step may close one descriptor and make another.
    events?.forget(number)
    while true {
      do throws(Failure) {
        switch try connections[number]?.advance(endpoint) {
        case .waits(let readiness, let time): return .waits(readiness, until: time.nanoseconds)
        case .open, nil:
          address = connections[number]?.address
          opened(number)
          return .open
        }
      } catch {
        failed(error)
        try reopenWithoutOffer(number, after: error)
      }
    }
  }

  private mutating func opened(_ number: Int) {
    let isResumed = connections[number]?.wasResumed ?? false
    if isResumed { resumption.served() }
    handshakes.made(
      isResumed: isResumed, isNewest: connections[number]?.speaksNewestTLS ?? false)
  }

  private mutating func failed(_ failure: Failure) {
    handshakes.failed(-Int(failure.status.rawValue))
  }

  /// Connects again without a session to resume, if offering one may have caused the failure. The
  /// deadline stays, and the failure is not reported.
  @inline(never)
  private mutating func reopenWithoutOffer(_ number: Int, after failure: Failure) throws(Failure) {
    guard connections[number]?.failedByOffer(failure.status) ?? false else { throw failure }
    let known = connections[number]?.address
    let deadline = connections[number]?.deadline ?? Deadline(nanoseconds: 0)
    drop(number)
    resumption.didHarm()
    connections[number] = try TLSConnection.begin(
      to: endpoint, trusting: trust, resuming: TLSOffer(), at: known, by: deadline)
  }

  @inline(__always)
  mutating func read(_ number: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    connections[number]?.read(into: buffer) ?? .end
  }

  @inline(__always)
  mutating func write(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    connections[number]?.write(bytes) ?? .full
  }

  @inline(never)
  func failure(_ number: Int) -> Failure {
    connections[number]?.failure() ?? Failure(APNS_ERR_NETWORK, "the connection ended")
  }

  mutating func isReadable(_ number: Int) -> Bool {
    connections[number]?.look(for: .reading) != nil
  }

  mutating func halfClose(_ number: Int) { connections[number]?.halfClose() }

  @inline(never)
  mutating func drop(_ number: Int) {
    if connections[number]?.uses(trust) ?? false {
      connections[number]?.keepSession(in: &resumption)
    }
    events?.forget(number)
    connections[number] = nil
    watches[number].revents = 0
  }

  mutating func silence() {
    for number in 0..<count { connections[number]?.silence() }
    events?.silence()
  }

  mutating func watch(_ number: Int, for readiness: Readiness) {
    watches[number].events |= readiness.rawValue
  }

  mutating func ignoreUnread(_ number: Int) {
    watches[number].events &= ~Readiness.reading.rawValue
  }

  @inline(never)
  mutating func wait(until time: Nanoseconds) {
    for number in 0..<count {
      watches[number].fd = watches[number].events == 0 ? -1 : connections[number]?.descriptor ?? -1
      watches[number].revents = 0
    }
    if let lock { csystem_release(lock) }
    _ = poll(watches, nfds_t(count), Deadline(nanoseconds: time).milliseconds)
    if let lock { _ = csystem_claim(lock) }
    for number in 0..<count { watches[number].events = 0 }
  }

  mutating func look() {
    for number in 0..<count { watches[number].revents = 0 }
    events?.look { watches[$0].revents = $1 }
  }

  @inline(never)
  mutating func arm(until time: Nanoseconds) {
    for number in 0..<count {
      let wanted = watches[number].events
      events?.watch(number, wanted == 0 ? -1 : connections[number]?.descriptor ?? -1, for: wanted)
      watches[number].events = 0
    }
    events?.arm(until: time)
  }

  mutating func wake() { events?.wake() }

  mutating func pause(_ time: Nanoseconds) { csystem_pause(time) }

  mutating func readiness(_ number: Int) -> Readiness {
    let found = watches[number].revents
    watches[number].revents = 0
    let known = Readiness(rawValue: found).intersection([.reading, .writing])
    // An error or a hang-up counts as ready too: the next call reports it.
    return found != 0 && known.isEmpty ? .reading : known
  }

  /// For the application's event loop; -1 if the session waits by itself.
  var descriptor: CInt {
    switch events {
    case .some(let events): events.descriptor
    case nil: -1
    }
  }

  /// The latest time for the event loop to call again.
  var due: Nanoseconds {
    switch events {
    case .some(let events): events.due
    case nil: .max
    }
  }

  /// The descriptor that another thread writes to; -1 if the session waits by itself.
  var wakeup: CInt {
    switch events {
    case .some(let events): events.wakeup
    case nil: -1
    }
  }

  func isResumed(_ number: Int) -> Bool { connections[number]?.wasResumed ?? false }

  @inline(never)
  func append(wayTo number: Int, to message: inout Message) {
    endpoint.append(wayBy: connections[number]?.address, to: &message)
  }

  @inline(never)
  func append(to message: inout Message) { endpoint.append(to: &message) }

  var needsIdentity: Bool { endpoint.needsIdentity }

  @inline(never)
  func appendAdvice(to message: inout Message) { endpoint.appendAdvice(to: &message) }
}
