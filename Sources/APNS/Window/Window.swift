import CSystem

/// Every notification that has no end yet, its frame ready to be written again,
/// and the outcomes nobody has taken yet. No I/O and no clock.
///
/// Positions count notifications (and sentinels) since the window was last empty:
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
  /// Sentinels between `first` and `end`: there is at most one.
  private var sentinel: Int?
  private let reportsAccepted: Bool
  /// An identifier of 0 is the sentinel's while there is one, whatever the status.
  private let zeroProves: Bool
  /// Up to which position some token has a length that may be what a gateway faults.
  private var oddTokensEnd = 0

  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var resent: UInt64 = 0

  /// Room that only a sentinel may take: its frame in the longest format.
  static let sentinelRoom = 32

  /// `bytes` for frames and bookkeeping together; nil where there is no memory.
  init?(bytes: Int, reportsAccepted: Bool, zeroProves: Bool = false) {
    // An eighth for the bookkeeping suits frames of 112 bytes and more.
    var count = 64
    while count &* 2 &* MemoryLayout<WindowEntry>.stride <= bytes / 8 { count &*= 2 }
    let bookkeeping = count &* MemoryLayout<WindowEntry>.stride
    guard bytes > bookkeeping, bytes < Int(WindowEntry.sentinelBit), let memory = malloc(bytes)
    else { return nil }
    self.memory = memory
    entries = memory.bindMemory(to: WindowEntry.self, capacity: count)
    mask = count &- 1
    ring = FrameRing(memory + bookkeeping, size: bytes &- bookkeeping)
    self.reportsAccepted = reportsAccepted
    self.zeroProves = zeroProves
  }

  deinit { free(memory) }

  // MARK: Queueing

  /// The largest frame that fits into an empty window.
  var largestFrame: Int { ring.size &- Self.sentinelRoom }
  /// Notifications without an end.
  var unresolved: Int { end &- first &- (sentinel == nil ? 0 : 1) }
  var waitingOutcomes: Int { first &- outcomes }
  var hasSentinel: Bool { sentinel != nil }
  /// Nothing waits for an end or to be written, no sentinel either.
  var isEmpty: Bool { first == end }
  /// Outcomes nobody takes hold half of the window's places.
  var isFullOfOutcomes: Bool { waitingOutcomes > mask / 2 }
  /// Bytes that wait to be written, but for those behind a sentinel.
  var hasUnwritten: Bool { ring.unwritten > 0 && !sentinelIsWritten }
  /// Notifications the connection has whole, of which the end is not known.
  var inFlight: Int {
    let reached = written
    guard let sentinel, sentinel < reached else { return reached &- first }
    return reached &- first &- 1
  }
  /// The oldest notification without an end.
  var firstUnresolved: UInt32? {
    let position = sentinel == first ? first &+ 1 : first
    return position < end ? entries[position & mask].identifier : nil
  }
  /// The connection has something of which the end is not known.
  var hasInFlight: Bool { written > first }
  /// Half of the room is taken, so that the window may soon be full.
  var isHalfFull: Bool {
    ring.live > ring.size / 2 || end &- outcomes > mask / 2
  }

  /// Where a frame of `size` bytes goes; nil where there is no room now.
  @inline(__always)
  func reserve(_ size: Int) -> Int? {
    guard end &- outcomes < mask else { return nil }
    return ring.place(for: size, spare: Self.sentinelRoom)
  }

  /// Takes the frame that was put at `place`.
  @inline(__always)
  mutating func commit(
    _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
    hasUsualToken: Bool
  ) {
    append(place, size, identifier, userData, flag: 0)
    taken &+= 1
    if !hasUsualToken { oddTokensEnd = end }
  }

  @inline(__always)
  private mutating func append(
    _ place: Int, _ size: Int, _ identifier: UInt32, _ userData: UnsafeMutableRawPointer?,
    flag: UInt32
  ) {
    // With nothing left, the first entries are used again: memory that is in the caches.
    if outcomes == end { (outcomes, first, end, oddTokensEnd) = (0, 0, 0, 0) }
    entries[end & mask] = WindowEntry(
      userData: userData, identifier: identifier,
      word: UInt32(truncatingIfNeeded: place) | flag)
    ring.commit(place, size)
    end &+= 1
  }

  /// Where a sentinel's frame goes. There is always room for one, and never for two.
  func reserveSentinel(_ size: Int) -> Int? {
    guard sentinel == nil, size <= Self.sentinelRoom else { return nil }
    return ring.place(for: size, spare: 0)
  }

  mutating func commitSentinel(_ place: Int, size: Int, identifier: UInt32) {
    append(place, size, identifier, nil, flag: WindowEntry.sentinelBit)
    sentinel = end &- 1
  }

  // MARK: Writing

  /// The next bytes for the connection, at most `limit`; none behind a sentinel.
  @inline(__always)
  func nextRecord(limit: Int) -> UnsafeRawBufferPointer {
    var run = ring.nextRun
    if let sentinel {
      let left = boundary(sentinel &+ 1) &- ring.written
      if left < run.count { run = UnsafeRawBufferPointer(rebasing: run[0..<max(left, 0)]) }
    }
    return run.count > limit ? UnsafeRawBufferPointer(rebasing: run[0..<limit]) : run
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

  private var sentinelIsWritten: Bool {
    guard let sentinel else { return false }
    return boundary(sentinel &+ 1) <= ring.written
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
  mutating func errorPacket(status: UInt8, identifier: UInt32) -> Verdict {
    guard let named = position(named: identifier, status: status) else { return .ambiguous }
    let wasWritten = written
    let proven = boundary(named)
    resolve(through: named, as: .accepted)
    // Shutdown names the last one accepted; a sentinel was never to be accepted.
    let isRejection =
      status != ErrorPacket.shutdown && !entries[named & mask].isSentinel
    resolve(through: named &+ 1, as: isRejection ? .rejected(status: status) : .accepted)
    restart(wasWritten: wasWritten)
    return isRejection ? .rejected(after: proven) : .proven
  }

  /// The notification the gateway means; nil where that cannot be known.
  private func position(named identifier: UInt32, status: UInt8) -> Int? {
    if identifier == 0 {
      // Seen of the sandbox: a sentinel answered with 0. A shutdown for 0 is another thing:
      // the gateway accepted nothing here.
      guard let sentinel, sentinelIsWritten, status != ErrorPacket.shutdown,
        zeroProves || isSentinels(status)
      else { return nil }
      return sentinel
    }
    guard first < end, let position = find(identifier), boundary(position) < ring.written
    else { return nil }
    return position
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

  /// The connection ended and named nothing. `resend`: what it had in flight is
  /// written again; otherwise it ends as unknown.
  @inline(never)
  mutating func connectionEnded(resend: Bool) {
    let wasWritten = written
    if !resend { resolve(through: wasWritten, as: .unknown) }
    restart(wasWritten: wasWritten)
  }

  /// The connection ended before the gateway looked at anything.
  mutating func connectionRefused() { restart(wasWritten: first) }

  /// Silence was long enough to be taken for acceptance.
  mutating func quietPeriodPassed() { resolve(through: written, as: .accepted) }

  /// Everything without an end gets one.
  mutating func abandon() { resolve(through: end, as: .unknown) }

  /// The connection keeps silent for good about what it has: nothing will be known.
  mutating func giveUpWritten() { resolve(through: written, as: .unknown) }

  @inline(never)
  private mutating func restart(wasWritten: Int) {
    if wasWritten > first {
      var again = wasWritten &- first
      if let sentinel, sentinel < wasWritten { again &-= 1 }
      resent &+= UInt64(again)
    }
    // A sentinel with nothing left before it has nothing to prove.
    if sentinel == first { resolve(through: first &+ 1, as: .accepted) }
    guard first < end else { return }
    ring.rewind(to: entries[first & mask].place)
  }

  /// Gives `first ..< position` their end.
  @inline(never)
  private mutating func resolve(through position: Int, as outcome: Outcome) {
    let count = position &- first
    guard count > 0 else { return }
    var real = count
    if let sentinel, sentinel < position { real &-= 1 }
    switch outcome {
    case .accepted: accepted &+= UInt64(real)
    case .rejected: rejected &+= UInt64(real)
    case .unknown: unknown &+= UInt64(real)
    }

    // Outcomes to be taken are packed against `position` from behind; what needs
    // no taking is dropped, and those that wait already move up behind them.
    var into = position
    if outcome != .accepted || reportsAccepted {
      var from = position
      while from > first {
        from &-= 1
        var entry = entries[from & mask]
        if entry.isSentinel { continue }
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
    if let sentinel, sentinel < position { self.sentinel = nil }
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
