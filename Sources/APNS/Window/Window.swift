import CSystem

/// Every notification that has no end yet, its frame ready to be written again,
/// and the outcomes nobody has taken yet. No I/O and no clock.
///
/// Positions count notifications (and sentinels) since the start and only grow:
///
///     outcomes ..< first     have an end that waits to be taken
///     first ..< written      the connection has them whole, and is silent
///     written ..< end        wait to be written
///
/// Identifiers run on without a gap from `first` to `end`, so that the one the
/// gateway names is found by subtraction.
struct Window: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  private let entries: UnsafeMutablePointer<WindowEntry>
  private let mask: Int
  private(set) var ring: FrameRing
  private var outcomes = 0
  private var first = 0
  private var end = 0
  private var nextIdentifier: UInt32
  /// Sentinels between `first` and `end`: there is at most one.
  private var sentinel: Int?
  private let reportsAccepted: Bool

  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var resent: UInt64 = 0

  /// Room that only a sentinel may take: its frame in the longest format.
  static let sentinelRoom = 32

  /// `bytes` for frames and bookkeeping together; nil where there is no memory.
  init?(bytes: Int, reportsAccepted: Bool, firstIdentifier: UInt32 = 1) {
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
    nextIdentifier = firstIdentifier == 0 ? 1 : firstIdentifier
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
  /// The connection has something of which the end is not known.
  var hasInFlight: Bool { written > first }
  /// The identifier of the next notification that is committed.
  @inline(__always)
  var identifier: UInt32 { nextIdentifier }

  /// Where a frame of `size` bytes goes; nil where there is no room now.
  @inline(__always)
  func reserve(_ size: Int) -> Int? {
    guard end &- outcomes < mask else { return nil }
    return ring.place(for: size, spare: Self.sentinelRoom)
  }

  /// Takes the frame that was put at `place`.
  @inline(__always)
  mutating func commit(_ place: Int, size: Int, userData: UnsafeMutableRawPointer?) {
    append(place, size, userData, flag: 0)
    taken &+= 1
  }

  @inline(__always)
  private mutating func append(
    _ place: Int, _ size: Int, _ userData: UnsafeMutableRawPointer?, flag: UInt32
  ) {
    entries[end & mask] = WindowEntry(
      userData: userData, identifier: nextIdentifier,
      word: UInt32(truncatingIfNeeded: place) | flag)
    ring.commit(place, size)
    end &+= 1
    nextIdentifier = nextIdentifier == .max ? 1 : nextIdentifier &+ 1
  }

  /// Where a sentinel's frame goes. There is always room for one, and never for two.
  func reserveSentinel(_ size: Int) -> Int? {
    guard sentinel == nil, size <= Self.sentinelRoom else { return nil }
    return ring.place(for: size, spare: 0)
  }

  mutating func commitSentinel(_ place: Int, size: Int) {
    sentinel = end
    append(place, size, nil, flag: WindowEntry.sentinelBit)
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
    /// The packet proved and named what it could; the rest waits to be written again.
    case settled
    /// It names nothing that is in flight, so it proves nothing.
    case ambiguous
  }

  /// An error packet arrived; the connection is at its end.
  mutating func errorPacket(status: UInt8, identifier: UInt32) -> Verdict {
    guard let named = position(named: identifier, status: status) else { return .ambiguous }
    let wasWritten = written
    resolve(through: named, as: .accepted)
    if status == ErrorPacket.shutdown || entries[named & mask].isSentinel {
      // Shutdown names the last one accepted; a sentinel was never to be accepted.
      resolve(through: named &+ 1, as: .accepted)
    } else {
      resolve(through: named &+ 1, as: .rejected(status: status))
    }
    restart(wasWritten: wasWritten)
    return .settled
  }

  /// The notification the gateway means; nil where that cannot be known.
  private func position(named identifier: UInt32, status: UInt8) -> Int? {
    if identifier == 0 {
      // Seen of the sandbox: a sentinel answered with 0. These two statuses can
      // mean nothing but its missing token, for no other frame goes without one.
      guard status == 2 || status == 5, sentinelIsWritten else { return nil }
      return sentinel
    }
    guard first < end else { return nil }
    var distance = Int(identifier &- entries[first & mask].identifier)
    // Between the highest identifier and 1 there is no 0.
    if identifier < entries[first & mask].identifier { distance &-= 1 }
    let position = first &+ distance
    guard distance >= 0, position < end, entries[position & mask].identifier == identifier,
      boundary(position) < ring.written
    else { return nil }
    return position
  }

  /// The connection ended and named nothing. `resend`: what it had in flight is
  /// written again; otherwise it ends as unknown.
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

  /// The oldest outcome that nobody has taken.
  mutating func takeOutcome()
    -> (outcome: Outcome, identifier: UInt32, userData: UnsafeMutableRawPointer?)?
  {
    guard outcomes < first else { return nil }
    let entry = entries[outcomes & mask]
    outcomes &+= 1
    return (Outcome(word: entry.word), entry.identifier, entry.userData)
  }
}
