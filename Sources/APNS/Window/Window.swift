import CSystem

/// Every notification that has no end yet, its frame ready to be written again,
/// and the outcomes nobody has taken yet. No I/O and no clock.
///
/// Positions count notifications since the window was last empty:
///
///     outcomes ..< first     have an end that waits to be taken
///     first ..< written      the connection has them whole, and is silent
///     written ..< end        wait to be written
///
/// Identifiers grow from `first` to `end`. Where the session has one window they run
/// on without a gap, and the one the gateway names is found by subtraction.
struct Window: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  private let entries: UnsafeMutablePointer<WindowEntry>
  private let mask: Int
  private(set) var ring: FrameRing
  private var outcomes = 0
  private var first = 0
  private var end = 0
  private var doubts = Doubts()
  private let reportsAccepted: Bool
  /// An identifier of 0 is the sentinel's while there is one, whatever the status.
  private let zeroProves: Bool
  /// What is in doubt goes out with fewer others each time; not when nothing can be proven.
  private let limitsFlights: Bool
  /// Up to which position some token has a length that may be what a gateway faults.
  private var oddTokensEnd = 0

  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var resent: UInt64 = 0

  /// `bytes` for frames and bookkeeping together; nil where there is no memory.
  init?(
    bytes: Int, reportsAccepted: Bool, zeroProves: Bool = false, limitsFlights: Bool = true
  ) {
    // An eighth for the bookkeeping suits frames of 112 bytes and more.
    var count = 64
    while count &* 2 &* MemoryLayout<WindowEntry>.stride <= bytes / 8 { count &*= 2 }
    let bookkeeping = count &* MemoryLayout<WindowEntry>.stride
    guard bytes > bookkeeping, bytes <= Int(Int32.max), let memory = malloc(bytes)
    else { return nil }
    self.memory = memory
    entries = memory.bindMemory(to: WindowEntry.self, capacity: count)
    mask = count &- 1
    ring = FrameRing(memory + bookkeeping, size: bytes &- bookkeeping)
    self.reportsAccepted = reportsAccepted
    self.zeroProves = zeroProves
    self.limitsFlights = limitsFlights
  }

  deinit { free(memory) }

  // MARK: Queueing

  /// The largest frame that fits into an empty window.
  var largestFrame: Int { ring.size }
  /// Notifications without an end.
  var unresolved: Int { end &- first }
  var waitingOutcomes: Int { first &- outcomes }
  /// Nothing waits for an end or to be written.
  var isEmpty: Bool { first == end }
  /// Outcomes nobody takes hold half of the window's places.
  var isFullOfOutcomes: Bool { waitingOutcomes > mask / 2 }
  var hasUnwritten: Bool { ring.unwritten > 0 }
  /// Notifications the connection has whole, of which the end is not known.
  var inFlight: Int { written &- first }
  /// The oldest notification without an end.
  var firstUnresolved: UInt32? { first < end ? entries[first & mask].identifier : nil }
  /// The connection has something of which the end is not known.
  var hasInFlight: Bool { written > first }
  /// Half of the room is taken, so that the window may soon be full.
  var isHalfFull: Bool {
    ring.live > ring.size / 2 || end &- outcomes > mask / 2
  }

  /// Where a frame of `size` bytes goes; nil where there is no room now.
  @inline(__always)
  func reserve(_ size: Int) -> Int? {
    guard end &- outcomes <= mask else { return nil }
    return ring.place(for: size, spare: 0)
  }

  /// Takes the frame that was put at `place`.
  @inline(__always)
  mutating func commit(
    _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
    hasUsualToken: Bool
  ) {
    // With nothing left, the first entries are used again: memory that is in the caches.
    if outcomes == end { beginAnew() }
    entries[end & mask] = WindowEntry(
      userData: userData, identifier: identifier, word: UInt32(truncatingIfNeeded: place))
    ring.commit(place, size)
    end &+= 1
    taken &+= 1
    if !hasUsualToken { oddTokensEnd = end }
  }

  private mutating func beginAnew() {
    (outcomes, first, end, oddTokensEnd) = (0, 0, 0, 0)
    if hasDoubt(from: 0) { doubts = Doubts() }
  }

  // MARK: Writing

  /// The next bytes for the connection, at most `limit`; none behind the flight.
  @inline(__always)
  func nextRecord(limit: Int) -> UnsafeRawBufferPointer {
    let run = ring.nextRun
    let most = max(hasDoubt ? min(limit, leftOfFlight) : limit, 0)
    return run.count > most ? UnsafeRawBufferPointer(rebasing: run[0..<most]) : run
  }

  @inline(__always)
  mutating func wrote(_ count: Int) { ring.wrote(count) }

  /// The first position whose frame the connection does not have whole.
  @inline(never)
  var written: Int {
    var (low, high) = (first, end)
    let reached = ring.written
    while low < high {
      let middle = low &+ (high &- low) / 2
      if boundary(middle &+ 1) <= reached { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// How many live bytes lie before the frame at `position`, or before the end.
  private func boundary(_ position: Int) -> Int {
    position == end
      ? ring.written &+ ring.unwritten : ring.rank(entries[position & mask].place)
  }

  // MARK: Doubt

  /// Some that have no end were in flight on a connection that ended without a word.
  @inline(__always)
  var hasDoubt: Bool { hasDoubt(from: first) }

  @inline(__always)
  private func hasDoubt(from position: Int) -> Bool { doubts.end > position }

  /// Bytes that may still be written before what is in flight has to be proven.
  @inline(never)
  private var leftOfFlight: Int {
    guard limitsFlights else { return .max }
    let flight = doubts.flight(at: first)
    return flight < end &- first ? boundary(first &+ flight) &- ring.written : .max
  }

  /// All that may be in flight is, and more waits; or it is in doubt for the second time,
  /// and not to be so once more for the want of a question.
  var flightNeedsProof: Bool {
    @inline(never) get {
      guard hasDoubt, limitsFlights, hasInFlight else { return false }
      return leftOfFlight == .max
        ? ring.unwritten == 0 && doubts.count(at: first) >= 2 : leftOfFlight <= 0
    }
  }

  // MARK: What the gateway says

  enum Verdict: Equatable {
    /// It named one that is at fault, and proved those before it, so many bytes.
    case rejected(after: Int)
    /// It proved something and found no fault.
    case proven
    /// It names nothing that is in flight, so it proves nothing.
    case ambiguous
  }

  /// An error packet arrived; the connection is at its end, and what the packet did not
  /// settle waits to be written again.
  mutating func errorPacket(
    status: UInt8, identifier: UInt32, sentinel: Sentinel
  ) -> Verdict {
    let wasWritten = written
    if answers(sentinel, status: status, identifier: identifier) {
      resolve(through: wasWritten, as: .accepted)
      restart(wasWritten: wasWritten)
      return .proven
    }
    guard identifier != 0, first < end, let named = find(identifier),
      boundary(named) < ring.written
    else { return .ambiguous }
    let proven = boundary(named)
    resolve(through: named, as: .accepted)
    // Shutdown names the last one accepted.
    let isRejection = status != ErrorPacket.shutdown
    resolve(through: named &+ 1, as: isRejection ? .rejected(status: status) : .accepted)
    restart(wasWritten: wasWritten)
    return isRejection ? .rejected(after: proven) : .proven
  }

  /// The packet is the answer to the sentinel, which comes behind all that was written.
  private func answers(_ sentinel: Sentinel, status: UInt8, identifier: UInt32) -> Bool {
    guard identifier == 0 else {
      return sentinel.identifier == identifier && sentinel.written > 0
    }
    // Seen of the sandbox: a sentinel answered with 0. A shutdown for 0 is another thing:
    // the gateway accepted nothing here.
    return sentinel.isWhole && status != ErrorPacket.shutdown && (zeroProves || isSentinels(status))
  }

  /// The status can mean nothing but a sentinel's missing token: no other frame goes
  /// without one, or, as far as they are in flight, with one of an odd size.
  private func isSentinels(_ status: UInt8) -> Bool {
    status == 2 || status == 5 && oddTokensEnd <= first
  }

  /// By subtraction; and by halves where another window has numbers in between.
  private func find(_ identifier: UInt32) -> Int? {
    let start = entries[first & mask].identifier
    var distance = Int(identifier &- start)
    // Between the highest identifier and 1 there is no 0.
    if identifier < start { distance &-= 1 }
    let guess = first &+ distance
    if distance >= 0, guess < end, entries[guess & mask].identifier == identifier { return guess }
    var (low, high) = (first, end)
    while low < high {
      let middle = low &+ (high &- low) / 2
      let found = entries[middle & mask].identifier
      if found == identifier { return middle }
      if found &- start < identifier &- start { low = middle &+ 1 } else { high = middle }
    }
    return nil
  }

  /// What becomes of notifications in flight on a connection that ended and named nothing.
  enum Resending {
    case none
    /// All but what was so for the fifth time.
    case usual
    /// None that ever was so: connections end whatever they carry.
    case undoubted
  }

  /// The connection ended and named nothing. What is not written again ends as unknown.
  @inline(never)
  mutating func connectionEnded(resending: Resending) {
    let wasWritten = written
    let fifth = doubts.add(from: first, to: wasWritten)
    switch resending {
    case .none: resolve(through: wasWritten, as: .unknown)
    case .usual: resolve(through: fifth, as: .unknown)
    case .undoubted: resolve(through: doubts.end, as: .unknown)
    }
    restart(wasWritten: wasWritten)
  }

  /// The connection ended before the gateway looked at anything; whether that is so nobody
  /// knows but the gateway.
  mutating func connectionRefused() {
    resolve(through: doubts.add(from: first, to: written), as: .unknown)
    restart(wasWritten: first)
  }

  /// Silence was long enough to be taken for acceptance of what was written before it.
  mutating func quietPeriodPassed(after position: Int) {
    resolve(through: min(position, written), as: .accepted)
  }

  /// Everything without an end gets one.
  mutating func abandon() { resolve(through: end, as: .unknown) }

  /// The connection keeps silent for good about what it has: nothing will be known.
  mutating func giveUpWritten() { resolve(through: written, as: .unknown) }

  @inline(never)
  private mutating func restart(wasWritten: Int) {
    if wasWritten > first {
      resent &+= UInt64(wasWritten &- first)
    }
    guard first < end else { return }
    ring.rewind(to: entries[first & mask].place)
  }

  /// Gives `first ..< position` their end.
  @inline(never)
  private mutating func resolve(through position: Int, as outcome: Outcome) {
    let count = position &- first
    guard count > 0 else { return }
    switch outcome {
    case .accepted: accepted &+= UInt64(count)
    case .rejected: rejected &+= UInt64(count)
    case .unknown: unknown &+= UInt64(count)
    }

    // Outcomes to be taken are packed against `position` from behind; what needs
    // no taking is dropped, and those that wait already move up behind them.
    var into = position
    if outcome != .accepted || reportsAccepted {
      var from = position
      while from > first {
        from &-= 1
        var entry = entries[from & mask]
        entry.word = outcome.word
        into &-= 1
        entries[into & mask] = entry
      }
    }
    if into != first {
      var from = first
      while from > outcomes {
        from &-= 1
        into &-= 1
        entries[into & mask] = entries[from & mask]
      }
      outcomes = into
    }
    first = position
    if first == end { ring.freeAll() } else { ring.free(before: entries[first & mask].place) }
  }

  // MARK: Outcomes

  /// Whose outcome is the next to be taken.
  var firstOutcome: UInt32? {
    outcomes < first ? entries[outcomes & mask].identifier : nil
  }

  /// The oldest outcome that nobody has taken.
  mutating func takeOutcome() -> WaitingOutcome? {
    guard outcomes < first else { return nil }
    let entry = entries[outcomes & mask]
    outcomes &+= 1
    return WaitingOutcome(
      outcome: Outcome(word: entry.word), identifier: entry.identifier, userData: entry.userData)
  }
}
