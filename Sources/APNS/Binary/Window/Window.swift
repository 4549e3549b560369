import CSystem

/// Holds every notification without an outcome, with its frame ready to be written again, and the
/// outcomes that wait for the caller. It does no I/O and has no clock.
///
/// Positions count notifications since the window was last empty:
///
///     outcomes ..< first     have an outcome that waits to be taken
///     first ..< written      the connection has them in full and has not answered
///     written ..< end        wait to be written
///
/// Identifiers grow from `first` to `end`. Where the session has one window they run
/// on without a gap, and the one the gateway names is found by subtraction.
struct Window: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  private let entries: UnsafeMutablePointer<WindowEntry>
  private let mask: Int
  /// The deadlines of unresolved notifications; and when the first is due.
  private let dues: UnsafeMutablePointer<ShortDeadline>
  private var deadlines = Deadlines()
  /// A due notification has no room for its outcome until others are taken.
  private var hasOwed = false
  /// Those with an outcome that are kept because the connection has them.
  private var over = 0
  private(set) var ring: FrameRing
  private var outcomes = 0
  private var first = 0
  private var end = 0
  private var doubts = Doubts()
  private let untaken: UnsafeMutablePointer<Untaken>
  private let reporting: Reporting
  /// While a sentinel is in flight, an identifier of 0 means the sentinel, for every status.
  private let zeroProves: Bool
  /// Notifications in doubt are sent in smaller flights each time. False if nothing can be
  /// proven anyway.
  private let limitsFlights: Bool
  /// The position up to which some token has a length that the gateway may reject.
  private var oddTokensEnd = 0
  /// Some notifications without an outcome are cancelled, or already returned by a push.
  private var hasMarked = false
  /// The notification of a push, which returns its outcome, 0 without one; and that outcome.
  private var pushed: UInt32 = 0
  private var pushedEnd: WindowEntry?
  /// The number of waiting accepted outcomes that give way.
  private var yielding = 0

  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var cancelled: UInt64 = 0
  private(set) var expired: UInt64 = 0
  private(set) var resent: UInt64 = 0
  /// Resent notifications in doubt: their connection ended and named nothing.
  private(set) var resentInDoubt: UInt64 = 0

  /// `bytes` covers frames and bookkeeping together; nil if there is no memory.
  init?(
    bytes: Int, untaken: UnsafeMutablePointer<Untaken>, zeroProves: Bool = false,
    limitsFlights: Bool = true
  ) {
    // An eighth for bookkeeping suits frames of 112 bytes and more.
    var count = 64
    while count &* 2 &* MemoryLayout<WindowEntry>.stride <= bytes / 8 { count &*= 2 }
    let entrySize = count &* MemoryLayout<WindowEntry>.stride
    let bookkeeping = entrySize &+ count &* MemoryLayout<ShortDeadline>.stride
    guard bytes > bookkeeping, bytes <= Int(Int32.max), let memory = malloc(bytes)
    else { return nil }
    self.memory = memory
    entries = memory.bindMemory(to: WindowEntry.self, capacity: count)
    mask = count &- 1
    dues = (memory + entrySize).bindMemory(to: ShortDeadline.self, capacity: count)
    ring = FrameRing(memory + bookkeeping, size: bytes &- bookkeeping)
    self.untaken = untaken
    reporting = untaken.pointee.reporting
    self.zeroProves = zeroProves
    self.limitsFlights = limitsFlights
  }

  deinit {
    if untaken.releases {
      for position in outcomes..<end where position < first || !entries[position & mask].isTold {
        untaken.release(entries[position & mask].userData)
      }
      untaken.release(pushedEnd?.userData)
    }
    free(memory)
  }

  // MARK: Queueing

  /// How many notifications and outcomes it has places for.
  var capacity: Int { mask &+ 1 }
  /// The largest frame that fits into an empty window.
  var largestFrame: Int { ring.size }
  /// Notifications without an outcome.
  var unresolved: Int { end &- first &- over }
  var waitingOutcomes: Int { first &- outcomes }
  /// Nothing waits to be written or for an outcome.
  var isEmpty: Bool { first == end }
  /// Outcomes that do not give way are the obstacle: they fill half of the window's places, or all
  /// that a proof would not free.
  var isFullOfOutcomes: Bool {
    waitingOutcomes &- yielding > mask / 2
      || reporting == .each && waitingOutcomes > 0 && end &- outcomes > mask
  }
  var hasUnwritten: Bool { ring.unwritten > 0 }
  /// Notifications that the connection has in full and whose outcome is unknown.
  var inFlight: Int { max(0, written &- first &- over) }
  /// The oldest notification without an outcome.
  var firstUnresolved: UInt32? {
    var position = first
    while position < end, dues[position & mask].isOver { position &+= 1 }
    return position < end ? entries[position & mask].identifier : nil
  }
  /// The connection has a notification in full whose outcome is unknown.
  var hasInFlight: Bool { written > first }
  /// Half of the room is taken, so the window may soon be full.
  var isHalfFull: Bool {
    ring.live > ring.size / 2 || end &- outcomes &- yielding > mask / 2
  }

  /// Where a frame of `size` bytes goes; nil if there is no room now.
  @inline(__always)
  func reserve(_ size: Int) -> Int? {
    guard end &- outcomes <= mask else { return nil }
    return ring.place(for: size, reserve: 0)
  }

  /// There is room for one of `size` bytes, or will be once accepted outcomes give way.
  @inline(never)
  func hasRoom(for size: Int) -> Bool {
    (end &- outcomes <= mask || yielding > 0) && ring.place(for: size, reserve: 0) != nil
  }

  /// Queues the frame that was put at `place`. `due` is its deadline, `max` for none.
  @inline(__always)
  mutating func commit(
    _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
    hasUsualToken: Bool, due: Nanoseconds
  ) {
    // When the window is empty it starts again with the first entries, which are still in
    // the caches.
    if outcomes == end { beginAnew() }
    entries[end & mask] = WindowEntry(
      userData: userData, identifier: identifier, place: place)
    dues[end & mask] = deadlines.add(due)
    ring.commit(place, size)
    end &+= 1
    taken &+= 1
    if !hasUsualToken { oddTokensEnd = end }
  }

  /// If no place is left, the oldest accepted outcomes give way.
  @inline(__always)
  mutating func giveWay() {
    if end &- outcomes > mask, yielding > 0 { forgetOldest() }
  }

  /// Enough at once to cost a single send next to nothing: a part of the places, and one more for
  /// eight outcomes that stay before them and must be moved.
  @inline(never)
  private mutating func forgetOldest() {
    let part = capacity / 64
    var (position, stay, gone) = (outcomes, 0, 0)
    if yielding == waitingOutcomes {
      gone = min(part, yielding)
      position &+= gone
      if untaken.releases {
        for position in outcomes..<position { untaken.release(entries[position & mask].userData) }
      }
    }
    while position < first, gone < part &+ stay / 8 {
      let entry = entries[position & mask]
      if entry.isAccepted {
        gone &+= 1
        untaken.release(entry.userData)
      } else {
        stay &+= 1
      }
      position &+= 1
    }
    yielding &-= gone
    var into = position
    while stay > 0 {
      position &-= 1
      let entry = entries[position & mask]
      if entry.isAccepted { continue }
      stay &-= 1
      into &-= 1
      entries[into & mask] = entry
    }
    outcomes = into
    untaken.forget(gone)
  }

  private mutating func beginAnew() {
    (outcomes, first, end, oddTokensEnd) = (0, 0, 0, 0)
    deadlines.forget()
    if hasDoubt(from: 0) { doubts = Doubts() }
  }

  // MARK: Writing

  /// The next bytes for the connection: at most `limit`, and never more than the flight allows.
  @inline(__always)
  func nextRecord(limit: Int) -> UnsafeRawBufferPointer {
    let run = ring.nextRun
    let maximum = max(hasDoubt ? min(limit, leftOfFlight) : limit, 0)
    return run.count > maximum ? UnsafeRawBufferPointer(rebasing: run[0..<maximum]) : run
  }

  @inline(__always)
  mutating func wrote(_ count: Int) { ring.wrote(count) }

  /// The first position with a frame that is not written in full.
  var written: Int { written(and: 0) }

  /// The same after `count` more bytes.
  @inline(never)
  func written(and count: Int) -> Int {
    var (low, high) = (first, end)
    let reached = ring.written &+ count
    while low < high {
      let middle = low &+ (high &- low) / 2
      if boundary(middle &+ 1) <= reached { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// The rest of a frame that the connection has in part.
  @inline(never)
  var restOfFrame: Int {
    let position = written
    guard position < end, boundary(position) < ring.written else { return 0 }
    return boundary(position &+ 1) &- ring.written
  }

  /// How many live bytes lie before the frame at `position`, or before the end.
  private func boundary(_ position: Int) -> Int {
    position == end
      ? ring.written &+ ring.unwritten : ring.rank(entries[position & mask].place)
  }

  /// The frame at a position of those in flight.
  func frame(_ position: Int) -> (identifier: UInt32, bytes: UnsafeRawBufferPointer) {
    let entry = entries[position & mask]
    let size = max(0, boundary(position &+ 1) &- boundary(position))
    return (entry.identifier, UnsafeRawBufferPointer(start: ring.address(entry.place), count: size))
  }

  // MARK: Doubt

  /// Some notifications without an outcome were in flight on a connection that ended without an
  /// error packet.
  @inline(__always)
  var hasDoubt: Bool { hasDoubt(from: first) }

  @inline(__always)
  private func hasDoubt(from position: Int) -> Bool { doubts.end > position }

  /// Bytes that may still be written before the notifications in flight have to be proven.
  @inline(never)
  private var leftOfFlight: Int {
    guard limitsFlights else { return .max }
    let flight = doubts.flight(at: first)
    return flight < end &- first ? boundary(first &+ flight) &- ring.written : .max
  }

  /// The flight is full and more waits, or everything is written and the oldest has been in
  /// doubt twice. In the second case asking for proof avoids a third doubt.
  var flightNeedsProof: Bool {
    @inline(never) get {
      guard hasDoubt, limitsFlights, hasInFlight else { return false }
      return leftOfFlight == .max
        ? ring.unwritten == 0 && doubts.count(at: first) >= 2 : leftOfFlight <= 0
    }
  }

  // MARK: Error packets

  enum Decision: Equatable {
    /// The gateway named a bad notification and proved the ones before it, which have `after`
    /// bytes.
    case rejected(after: Int)
    /// The gateway proved something and found no fault.
    case proven
    /// The gateway reported no error for a notification, so the connection stays open.
    case noError
    /// The packet names nothing in flight, so it proves nothing.
    case ambiguous
  }

  /// An error packet arrived and, unless its status means no error, the connection is over.
  /// Notifications that the packet did not resolve wait to be written again.
  mutating func errorPacket(
    status: UInt8, identifier: UInt32, sentinel: Sentinel
  ) -> Decision {
    let wasWritten = written
    if answers(sentinel, status: status, identifier: identifier) {
      resolve(through: wasWritten, as: .accepted)
      restart(wasWritten: wasWritten)
      return .proven
    }
    guard identifier != 0, first < end, let named = find(identifier),
      boundary(named) < ring.written
    else { return .ambiguous }
    // Nobody discards what follows a notification without an error. If the connection ends all the
    // same, that is in doubt.
    if status == ErrorPacket.noError {
      resolve(through: named &+ 1, as: .accepted)
      return .noError
    }
    let proven = boundary(named)
    resolve(through: named, as: .accepted)
    // With the status shutdown the packet names the last accepted notification.
    let isRejection = status != ErrorPacket.shutdown
    resolve(through: named &+ 1, as: isRejection ? .rejected(status: status) : .accepted)
    restart(wasWritten: wasWritten)
    return isRejection ? .rejected(after: proven) : .proven
  }

  /// Whether the packet answers the sentinel, which comes after everything that was written.
  private func answers(_ sentinel: Sentinel, status: UInt8, identifier: UInt32) -> Bool {
    guard identifier == 0 else {
      return sentinel.identifier == identifier && sentinel.written > 0
    }
    // The sandbox has been seen to answer a sentinel with 0. A shutdown for 0 is different:
    // the gateway accepted nothing on this connection.
    return sentinel.isWhole && status != ErrorPacket.shutdown && (zeroProves || isSentinels(status))
  }

  /// Whether the status can only mean the sentinel's missing token: all other frames have a
  /// token, and status 5 fits only if no token in flight has an odd size.
  private func isSentinels(_ status: UInt8) -> Bool {
    status == 2 || status == 5 && oddTokensEnd <= first
  }

  /// Finds the identifier by subtraction, or by binary search if another window has numbers
  /// in between.
  private func find(_ identifier: UInt32) -> Int? {
    let start = entries[first & mask].identifier
    var distance = Int(identifier &- start)
    // Identifiers go from the highest straight to 1; there is no 0 between them.
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

  /// What happens to the notifications in flight when a connection ended and named nothing.
  enum Resending {
    case none
    /// Send again all except those that were in flight in this way for the fifth time.
    case usual
    /// Resend none of them: connections end no matter which ones they carry.
    case undoubted
  }

  /// The connection ended and named nothing. Notifications that are not resent get the outcome
  /// unknown.
  @inline(never)
  mutating func connectionEnded(resending: Resending) {
    let wasWritten = written
    let fifth = doubts.add(from: first, to: wasWritten)
    switch resending {
    case .none: resolve(through: wasWritten, as: .unknown)
    case .usual: resolve(through: fifth, as: .unknown)
    case .undoubted: resolve(through: doubts.end, as: .unknown)
    }
    let before = resent
    restart(wasWritten: wasWritten)
    resentInDoubt &+= resent &- before
  }

  /// The connection ended, as it seems, before the gateway looked at anything. Only the
  /// gateway knows for certain.
  mutating func connectionRefused() {
    resolve(through: doubts.add(from: first, to: written), as: .unknown)
    restart(wasWritten: first)
  }

  /// The silence was long enough to count everything written before it as accepted.
  mutating func quietPeriodPassed(after position: Int) {
    resolve(through: min(position, written), as: .accepted)
  }

  /// Gives every notification without an outcome the outcome unknown.
  mutating func abandon() { resolve(through: end, as: .unknown) }

  /// The connection will never answer for what it has, so these outcomes stay unknown.
  mutating func giveUpWritten() { resolve(through: written, as: .unknown) }

  @inline(never)
  private mutating func restart(wasWritten: Int) {
    if first < end { ring.rewind(to: entries[first & mask].place) }
    // It waits now, and its outcome has room.
    if hasOwed { deadlines.looked(first: .min, at: .min) }
    hasOwed = false
    var again = wasWritten &- first
    if hasMarked { again &-= removeCancelled(writtenBefore: wasWritten) }
    if again > 0 { resent &+= UInt64(again) }
  }

  // MARK: Cancelling

  /// Stops writing the notification with that identifier, or all for 0. Unwritten ones get their
  /// outcomes, which are taken before others; the rest keep waiting for theirs. Returns the number
  /// of outcomes. `pending` is the number of bytes that TLS was given and has not written: it must
  /// be given the same bytes again.
  mutating func cancel(_ identifier: UInt32, pending: Int) -> Int {
    let begun = begun(and: pending)
    let before = end
    if identifier != 0 {
      guard first < end, let position = find(identifier) else { return 0 }
      if position >= begun {
        remove(position, 1, as: .cancelled)
      } else {
        keepFromResending(position)
      }
    } else {
      while end > begun { remove(end &- 1, 1, as: .cancelled) }
      for position in first..<max(first, begun) { keepFromResending(position) }
    }
    return before &- end
  }

  /// The first position of whose frame neither the connection nor TLS has a byte.
  private func begun(and pending: Int) -> Int {
    let begun = written(and: pending)
    // The rest of a frame has to follow its beginning.
    return begun < end && boundary(begun) < ring.written &+ pending ? begun &+ 1 : begun
  }

  private mutating func keepFromResending(_ position: Int) {
    entries[position & mask].isCancelled = true
    hasMarked = true
  }

  /// Nothing is in flight any more: the cancelled ones get their outcomes. Returns how many of them lie
  /// before that position.
  private mutating func removeCancelled(writtenBefore written: Int) -> Int {
    var count = 0
    var position = end
    while position > first {
      position &-= 1
      guard entries[position & mask].isCancelled else { continue }
      if position < written { count &+= 1 }
      remove(position, 1, as: .cancelled)
    }
    return count
  }

  /// Takes out some notifications that this connection has not begun to write, and gives them this
  /// outcome, or unknown if an earlier connection left them in doubt.
  @inline(never)
  private mutating func remove(_ position: Int, _ maximum: Int, as outcome: Outcome) {
    var removed = InlineArray<64, WindowEntry>(
      repeating: WindowEntry(userData: nil, identifier: 0, place: 0))
    let start = entries[position & mask].place
    var (count, size) = (0, 0)
    // Their frames lie in one piece.
    while count < min(maximum, removed.count),
      entries[(position &+ count) & mask].place == start &+ size
    {
      let each = position &+ count
      removed[count] = entries[each & mask]
      if dues[each & mask].isOver {
        over &-= 1
      } else {
        let end = hasDoubt(from: each) ? Outcome.unknown : outcome
        self.count(1, as: end)
        if !removed[count].isTold { removed[count].outcome = end }
      }
      size &+= boundary(each &+ 1) &- boundary(each)
      count &+= 1
    }
    for behind in position &+ count..<max(position &+ count, end) {
      var moved = entries[behind & mask]
      if ring.follows(moved.place, start) { moved.move(by: size) }
      entries[(behind &- count) & mask] = moved
      dues[(behind &- count) & mask] = dues[behind & mask]
    }
    ring.remove(start, size: size)
    end &-= count
    for _ in 0..<count {
      doubts.remove(position)
      if oddTokensEnd > position { oddTokensEnd &-= 1 }
    }
    if first == end { emptied() }
    while count > 0 {
      count &-= 1
      if !removed[count].isTold { reportFirst(removed[count]) }
    }
  }

  /// Its outcome is taken before others.
  private mutating func reportFirst(_ entry: WindowEntry) {
    if entry.identifier == pushed {
      pushedEnd = entry
    } else {
      outcomes &-= 1
      entries[outcomes & mask] = entry
    }
  }

  private mutating func emptied() {
    hasMarked = false
    ring.freeAll()
    deadlines.forget()
  }

  // MARK: Deadlines

  /// No notification has to have its end before; `max`: none ever.
  var nextDeadline: Nanoseconds {
    hasOwed && (end &- outcomes <= mask || yielding > 0) ? .min : deadlines.first
  }

  /// Resolves the due notifications; with `onlyWaiting` only those of which nothing was written.
  /// Keeps the frames of those that the connection has in part, or not before all others.
  /// `pending` is as for `cancel`.
  @inline(never)
  mutating func expire(at now: Nanoseconds, onlyWaiting: Bool, pending: Int) {
    if !onlyWaiting {
      resolve(through: dueEnd(from: first, to: written, now), as: .unknown)
      hasOwed = false
      for position in first..<max(first, begun(and: pending)) {
        if isDue(position, now), !endInFlight(position) { hasOwed = true }
      }
    }
    let begun = begun(and: pending)
    var position = begun
    if begun == first {
      // Nothing is in flight, so those that are the oldest need not be moved.
      let dueEnd = dueEnd(from: first, to: end, now)
      resolve(through: min(dueEnd, doubts.end), as: .unknown)
      resolve(through: dueEnd, as: .expired)
      position = first
    }
    while position < end {
      let dueEnd = dueEnd(from: position, to: end, now)
      if dueEnd > position {
        remove(position, dueEnd &- position, as: .expired)
      } else if deadlines.areSorted, deadlines.time(of: dues[position & mask]) < .max {
        break
      } else {
        position &+= 1
      }
    }
    lookAtDeadlines(at: now)
  }

  /// Finds the first deadline. A due notification in flight counts as due at once, or when its
  /// outcome has room.
  mutating func lookAtDeadlines(at now: Nanoseconds) {
    var next = Nanoseconds.max
    let (areSorted, hasOwed) = (deadlines.areSorted, hasOwed)
    forEachWithoutEnd {
      if $1 > now || !hasOwed { next = min(next, $1) }
      return !areSorted || $1 <= now || $1 == .max
    }
    // If deadlines differ, each look checks all of them, so a large window is not checked each ms.
    if !deadlines.areSorted, next > now, next < .max {
      next = max(next, now &+ Int64((end &- first) >> 13) &* 1_000_000)
    }
    deadlines.looked(first: next, at: now)
  }

  /// The identifiers of those that have no outcome, and when they are due, as long as that wants more.
  func forEachWithoutEnd(_ body: (UInt32, Nanoseconds) -> Bool) {
    for position in first..<end where !dues[position & mask].isOver {
      guard body(entries[position & mask].identifier, deadlines.time(of: dues[position & mask]))
      else {
        return
      }
    }
  }

  private func isDue(_ position: Int, _ now: Nanoseconds) -> Bool {
    deadlines.time(of: dues[position & mask]) <= now
  }

  /// The end of those that are due from there on.
  private func dueEnd(from start: Int, to end: Int, _ now: Nanoseconds) -> Int {
    var position = start
    while position < end, isDue(position, now) { position &+= 1 }
    return position
  }

  /// Its outcome is unknown from now on, and its frame stays: the gateway may name it. False if the
  /// outcome has no room before others are taken.
  private mutating func endInFlight(_ position: Int) -> Bool {
    var entry = entries[position & mask]
    let isTold = entry.isTold
    giveWay()
    guard isTold || entry.identifier == pushed || end &- outcomes <= mask else { return false }
    keepFromResending(position)
    entries[position & mask].noteTold()
    dues[position & mask] = .over
    over &+= 1
    count(1, as: .unknown)
    entry.outcome = .unknown
    if !isTold { reportFirst(entry) }
    return true
  }

  private mutating func count(_ count: Int, as outcome: Outcome) {
    switch outcome {
    case .accepted: accepted &+= UInt64(count)
    case .rejected: rejected &+= UInt64(count)
    case .unknown: unknown &+= UInt64(count)
    case .cancelled: cancelled &+= UInt64(count)
    case .expired: expired &+= UInt64(count)
    }
  }

  /// Drops the notifications before that position that had an outcome. Returns their number.
  private mutating func forgetOver(before position: Int) -> Int {
    guard over > 0 else { return 0 }
    let before = over
    for each in first..<max(first, position) where dues[each & mask].isOver { over &-= 1 }
    return before &- over
  }

  /// Gives `first ..< position` their outcome.
  @inline(never)
  private mutating func resolve(through position: Int, as outcome: Outcome) {
    let count = position &- first
    guard count > 0 else { return }
    self.count(count &- forgetOver(before: position), as: outcome)

    // New outcomes are packed against `position` from the back. Outcomes that nobody needs to take
    // are dropped, and the older waiting outcomes move up next to the new ones. Accepted ones
    // mostly stay as they are.
    var into = position
    let isReported = outcome != .accepted || reporting != .failures
    if outcome == .accepted, isReported, pushed == 0, !hasMarked {
      into = first
    } else if isReported || pushed != 0 || untaken.releases {
      var from = position
      while from > first {
        from &-= 1
        var entry = entries[from & mask]
        let isTold = entry.isTold
        entry.outcome = outcome
        if entry.identifier == pushed, !hasPushed { pushedEnd = entry }
        if isTold || entry.identifier == pushed { continue }
        if !isReported {
          untaken.release(entry.userData)
          continue
        }
        into &-= 1
        entries[into & mask] = entry
      }
    }
    if outcome == .accepted, reporting == .all { yielding &+= position &- into }
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
    if first == end { emptied() } else { ring.free(before: entries[first & mask].place) }
  }

  // MARK: Outcomes

  /// The identifier of the next outcome to be taken.
  var firstOutcome: UInt32? {
    outcomes < first ? entries[outcomes & mask].identifier : nil
  }

  /// Takes the oldest outcome.
  mutating func takeOutcome() -> WaitingOutcome? {
    guard outcomes < first else { return nil }
    let entry = entries[outcomes & mask]
    outcomes &+= 1
    if yielding > 0, entry.isAccepted { yielding &-= 1 }
    return WaitingOutcome(
      outcome: entry.outcome, identifier: entry.identifier, userData: entry.userData,
      response: nil)
  }

  // MARK: A push

  var isPushing: Bool { pushed != 0 }
  var hasPushed: Bool { pushedEnd != nil }

  /// The outcome of the notification queued last is for a push.
  mutating func push() { pushed = entries[(end &- 1) & mask].identifier }

  /// Takes the outcome of the push, which is unknown if it has not come. A later one is then not
  /// reported.
  mutating func takePushed() -> WaitingOutcome? {
    guard pushed != 0 else { return nil }
    let identifier = pushed
    pushed = 0
    if let taken = pushedEnd {
      pushedEnd = nil
      return WaitingOutcome(
        outcome: taken.outcome, identifier: identifier, userData: taken.userData,
        response: nil)
    }
    guard first < end, let position = find(identifier) else { return nil }
    entries[position & mask].noteTold()
    hasMarked = true
    return WaitingOutcome(
      outcome: .unknown, identifier: identifier, userData: entries[position & mask].userData,
      response: nil)
  }
}
