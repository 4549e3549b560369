import CAPNS
import CSystem

/// The world as it is: TLS connections to one endpoint, and the system's clock.
struct TLSNetwork: Network, ~Copyable {
  private let endpoint: Endpoint
  let trust: TrustContext
  private let count: Int
  private let lines: UnsafeMutablePointer<TLSConnection?>
  /// What is watched, and what the last wait found: one for each line.
  private let watches: UnsafeMutablePointer<pollfd>
  /// Left by the last connection for the next.
  private var resumption = TLSOffer()
  private var address: PeerAddress?
  private var seed: UInt64

  init?(lines count: Int, to endpoint: consuming Endpoint, trusting trust: consuming TrustContext) {
    guard
      let lines = malloc(count &* MemoryLayout<TLSConnection?>.stride)?
        .bindMemory(to: TLSConnection?.self, capacity: count)
    else { return nil }
    guard
      let watches = malloc(count &* MemoryLayout<pollfd>.stride)?
        .bindMemory(to: pollfd.self, capacity: count)
    else {
      free(lines)
      return nil
    }
    self.endpoint = endpoint
    self.trust = trust
    self.count = count
    self.lines = lines
    self.watches = watches
    for line in 0..<count { (lines + line).initialize(to: nil) }
    watches.initialize(repeating: pollfd(fd: -1, events: 0, revents: 0), count: count)
    seed = UInt64(bitPattern: Deadline.now) ^ UInt64(UInt(bitPattern: lines))
  }

  deinit {
    lines.deinitialize(count: count)
    free(lines)
    free(watches)
  }

  var now: Int64 { Deadline.now }
  var second: UInt32 { csystem_monotonic_seconds() }

  /// Spreads the reconnects of many providers; nothing secret hangs on it.
  @inline(never)
  mutating func random() -> UInt64 {
    seed &+= 0x9E37_79B9_7F4A_7C15
    var mixed = seed
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  @inline(never)
  mutating func open(_ line: Int, isSpare: Bool, by deadline: Int64) throws(Failure) {
    lines[line] = try TLSConnection.begin(
      to: endpoint, trusting: trust, resuming: resumption, at: isSpare ? address : nil,
      by: Deadline(nanoseconds: deadline))
  }

  @inline(never)
  mutating func advance(_ line: Int) throws(Failure) -> Opening {
    while true {
      do throws(Failure) {
        switch try lines[line]?.advance(endpoint) {
        case .waits(let readiness, let time): return .waits(readiness, until: time.nanoseconds)
        case .open, nil:
          address = lines[line]?.address
          if lines[line]?.wasResumed ?? false { resumption.served() }
          return .open
        }
      } catch {
        try reopenWithoutOffer(line, after: error)
      }
    }
  }

  /// Begins anew, without a session to resume, where the offer of one may have been the reason.
  /// The time goes on, and nobody is told.
  @inline(never)
  private mutating func reopenWithoutOffer(_ line: Int, after failure: Failure) throws(Failure) {
    guard lines[line]?.failedByOffer(failure.status) ?? false else { throw failure }
    let known = lines[line]?.address
    let deadline = lines[line]?.deadline ?? Deadline(nanoseconds: 0)
    drop(line)
    resumption.didHarm()
    lines[line] = try TLSConnection.begin(
      to: endpoint, trusting: trust, resuming: TLSOffer(), at: known, by: deadline)
  }

  @inline(__always)
  mutating func read(_ line: Int, into buffer: UnsafeMutableRawBufferPointer) -> Reading {
    lines[line]?.read(into: buffer) ?? .end
  }

  @inline(__always)
  mutating func write(_ line: Int, _ bytes: UnsafeRawBufferPointer) -> Writing {
    lines[line]?.write(bytes) ?? .full
  }

  @inline(never)
  func failure(_ line: Int) -> Failure {
    lines[line]?.failure() ?? Failure(APNS_ERR_NETWORK, "the connection ended")
  }

  func hasNews(_ line: Int) -> Bool { lines[line]?.look(for: .reading) != nil }

  mutating func sayGoodbye(_ line: Int) { lines[line]?.sayGoodbye() }

  @inline(never)
  mutating func drop(_ line: Int) {
    lines[line]?.leave(in: &resumption)
    lines[line] = nil
    watches[line].revents = 0
  }

  mutating func silence() {
    for line in 0..<count { lines[line]?.silence() }
  }

  mutating func watch(_ line: Int, for readiness: Readiness) {
    watches[line].events |= readiness.rawValue
  }

  @inline(never)
  mutating func wait(until time: Int64) {
    for line in 0..<count {
      watches[line].fd = watches[line].events == 0 ? -1 : lines[line]?.descriptor ?? -1
      watches[line].revents = 0
    }
    _ = poll(watches, nfds_t(count), Deadline(nanoseconds: time).milliseconds)
    for line in 0..<count { watches[line].events = 0 }
  }

  mutating func pause(_ time: Int64) { csystem_pause(time) }

  mutating func readiness(_ line: Int) -> Readiness {
    let found = watches[line].revents
    watches[line].revents = 0
    let known = Readiness(rawValue: found).intersection([.reading, .writing])
    // An error or a hang-up is readiness too: the call that follows will tell.
    return found != 0 && known.isEmpty ? .reading : known
  }

  @inline(never)
  func append(to message: inout Message) { endpoint.append(to: &message) }

  @inline(never)
  func appendAdvice(to message: inout Message) { endpoint.appendAdvice(to: &message) }
}
