import CSystem

/// Every notification of a session over HTTP/2 without an end, its request ready to be sent again,
/// and the outcomes nobody has taken yet. No I/O and no clock.
///
/// Answers come in any order, so each entry has a state of its own and its memory is freed by
/// itself. Entries without an end are in a list in the order in which they were taken; those from
/// `fresh` on were never sent. Lists name an entry by its slot plus one; 0 is none.
struct Outbox: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  let entries: UnsafeMutablePointer<OutboxEntry>
  /// How many entries there are.
  let capacity: Int
  private var store: RequestStore
  let reportsAccepted: Bool

  /// The first and the last taken of those without an end, and the first never sent.
  private var oldest: UInt32 = 0
  private var newest: UInt32 = 0
  private var fresh: UInt32 = 0
  /// Entries given back, reused in that order, so that requests that were answered in order stay
  /// neighbours. Behind `touched` none was ever used.
  private var unused = OutboxList()
  private var touched = 0
  /// To be sent again at once; and later, with a list for each try, so that each list is in the
  /// order of its times.
  private var again = OutboxList()
  private var later = InlineArray<6, OutboxList>(repeating: OutboxList())
  /// Seconds until the next try; the last one holds for all further tries.
  static let pauses: InlineArray<6, Seconds> = [1, 2, 4, 8, 16, 32]
  /// Streams that have ended and are to be judged; and outcomes to be taken.
  private var answered = OutboxList()
  private var ended = OutboxList()

  private(set) var inFlight = 0
  private(set) var waitingOutcomes = 0
  private(set) var unresolved = 0
  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var resent: UInt64 = 0

  /// `bytes` for requests and bookkeeping together; nil when there is no memory.
  init?(bytes: Int, reportsAccepted: Bool) {
    // A quarter for the bookkeeping suits requests of 240 bytes and more.
    var count = 32
    while count &* 2 &* MemoryLayout<OutboxEntry>.stride <= bytes / 4 { count &*= 2 }
    let bookkeeping = count &* MemoryLayout<OutboxEntry>.stride
    guard bytes > bookkeeping, bytes < Int(Int32.max), let memory = malloc(bytes) else {
      return nil
    }
    self.memory = memory
    entries = memory.bindMemory(to: OutboxEntry.self, capacity: count)
    capacity = count
    store = RequestStore(memory + bookkeeping, size: bytes &- bookkeeping)
    self.reportsAccepted = reportsAccepted
    // Connections look at it before anything is taken.
    entries.initialize(to: OutboxEntry(userData: nil, identifier: 0, place: 0, takenAt: 0))
  }

  /// Makes an outbox that stays where it is in memory until it is ended.
  static func make(bytes: Int, reportsAccepted: Bool) -> UnsafeMutablePointer<Outbox>? {
    guard let memory = malloc(MemoryLayout<Outbox>.size) else { return nil }
    let outbox = memory.bindMemory(to: Outbox.self, capacity: 1)
    if let made = Outbox(bytes: bytes, reportsAccepted: reportsAccepted) {
      outbox.initialize(to: made)
      return outbox
    }
    free(memory)
    return nil
  }

  static func end(_ outbox: UnsafeMutablePointer<Outbox>) {
    outbox.deinitialize(count: 1)
    free(outbox)
  }

  deinit {
    // An entry that was given back has no body.
    for slot in 0..<touched { free(entries[slot].body) }
    free(memory)
  }

  // MARK: Queueing

  var largestRequest: Int { store.size }
  /// Bytes of requests without an end.
  var live: Int { store.used }
  /// Outcomes that nobody takes hold half of the entries.
  var isFullOfOutcomes: Bool { waitingOutcomes > capacity / 2 }

  /// Where a request of `size` bytes goes; nil when there is no room now.
  @inline(__always)
  mutating func reserve(_ size: Int) -> Int? {
    guard !unused.isEmpty || touched < capacity else { return nil }
    return store.place(for: size) ?? closeGaps(for: size)
  }

  @inline(never)
  private mutating func closeGaps(for size: Int) -> Int? {
    guard store.isWorthPacking(for: size) else { return nil }
    var packing = store.beginPacking()
    var next = oldest
    while next != 0 {
      let slot = Int(next) &- 1
      entries[slot].place = UInt32(
        truncatingIfNeeded: store.pack(
          &packing, Int(entries[slot].place), request(slot).size))
      next = entries[slot].newer
    }
    store.endPacking(packing)
    return store.place(for: size)
  }

  @inline(__always)
  func address(_ place: Int) -> UnsafeMutableRawPointer { store.address(place) }

  /// Takes the request that was written to `place`; returns its slot.
  mutating func commit(
    _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
    at second: Seconds
  ) -> Int {
    let slot = takeEntry()
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    entries[slot] = OutboxEntry(
      userData: userData, identifier: identifier, place: UInt32(truncatingIfNeeded: place),
      takenAt: second)
    entries[slot].older = newest
    if newest == 0 { oldest = number } else { entries[Int(newest) &- 1].newer = number }
    newest = number
    if fresh == 0 { fresh = number }
    store.commit(place, size)
    taken &+= 1
    unresolved &+= 1
    return slot
  }

  /// An unused entry: `reserve` has seen that there is one.
  @inline(__always)
  private mutating func takeEntry() -> Int {
    if let slot = entries.takeFirst(of: &unused) { return slot }
    touched &+= 1
    return touched &- 1
  }

  func request(_ slot: Int) -> StoredRequest {
    StoredRequest(UnsafeRawPointer(store.address(Int(entries[slot].place))))
  }

  /// The slot of the next one taken, or that slot itself when it is the last.
  @inline(__always)
  func slot(behind slot: Int) -> Int {
    let next = Int(entries[slot].newer)
    return next == 0 ? slot : next &- 1
  }

  /// Whether it waits for the answer to that stream.
  @inline(__always)
  func isInFlight(_ slot: Int, on connection: UInt16, _ stream: Int32) -> Bool {
    entries[slot].stream == stream && entries[slot].connection == connection
      && entries[slot].state == .inFlight
  }

  // MARK: Sending

  /// Something may be sent now.
  func isDue(at second: Seconds) -> Bool {
    if !again.isEmpty || fresh != 0 { return true }
    return nextTry.map { Int32(bitPattern: second &- $0) >= 0 } ?? false
  }

  /// Something waits to be sent, now or later.
  var hasQueued: Bool { unresolved > inFlight }

  /// The second at which the first of those that wait for another try may be sent.
  var nextTry: Seconds? {
    var next: UInt32?
    for index in 0..<later.count where !later[index].isEmpty {
      let due = dueTime(index)
      if let other = next, Int32(bitPattern: due &- other) >= 0 { continue }
      next = due
    }
    return next
  }

  private func dueTime(_ index: Int) -> Seconds {
    entries[Int(later[index].first) &- 1].sentAt &+ Self.pauses[index]
  }

  /// The slot of the next one to be sent.
  mutating func takeDue(at second: Seconds) -> Int? {
    if let slot = entries.takeFirst(of: &again) { return slot }
    for index in 0..<later.count where !later[index].isEmpty {
      if Int32(bitPattern: second &- dueTime(index)) >= 0 {
        return entries.takeFirst(of: &later[index])
      }
    }
    guard fresh != 0 else { return nil }
    let slot = Int(fresh) &- 1
    fresh = entries[slot].newer
    return slot
  }

  /// It could not be sent after all, and is the next one again.
  mutating func putBack(_ slot: Int) {
    if again.isEmpty, entries[slot].sentAt == 0, entries[slot].newer == fresh {
      fresh = UInt32(truncatingIfNeeded: slot &+ 1)
    } else {
      entries.prepend(slot, to: &again)
    }
  }

  mutating func sent(_ slot: Int, on connection: UInt16, stream: Int32, at second: Seconds) {
    entries[slot].state = .inFlight
    entries[slot].connection = connection
    entries[slot].stream = stream
    entries[slot].status = 0
    entries[slot].isWhole = false
    entries[slot].isReset = false
    (entries[slot].bodyLength, entries[slot].bodyHeard) = (0, 0)
    entries[slot].isRefused = false
    entries[slot].sent = 0
    if entries[slot].sentAt != 0 { resent &+= 1 }
    entries[slot].sentAt = max(second, 1)
    inFlight &+= 1
  }

  // MARK: What comes of it

  /// Its stream has ended; `takeAnswered` returns it to be judged. If it was neither answered nor
  /// refused, nobody knows what became of it.
  mutating func streamEnded(_ slot: Int) {
    guard entries[slot].state == .inFlight else { return }
    inFlight &-= 1
    if !entries[slot].isAnswered {
      entries[slot].status = 0
      if !entries[slot].isRefused, entries[slot].doubts < .max { entries[slot].doubts &+= 1 }
    }
    entries[slot].state = .answered
    entries.append(slot, to: &answered)
  }

  mutating func takeAnswered() -> Int? { entries.takeFirst(of: &answered) }

  /// Everything that a connection had in flight is handled like what was answered, in order.
  @inline(never)
  mutating func connectionEnded(_ connection: UInt16) {
    forEachInFlight(on: connection) { $0.streamEnded($1) }
  }

  /// Those in flight on a connection, the oldest first.
  mutating func forEachInFlight(
    on connection: UInt16, _ body: (inout Outbox, Int) -> Void
  ) {
    var next = oldest
    while next != 0, next != fresh {
      let slot = Int(next) &- 1
      next = entries[slot].newer
      if entries[slot].state == .inFlight, entries[slot].connection == connection {
        body(&self, slot)
      }
    }
  }

  /// It is sent again at once.
  mutating func sendAgain(_ slot: Int) {
    entries[slot].state = .queued
    forget(slot)
    entries.append(slot, to: &again)
  }

  /// The pause in seconds before another try.
  func pause(_ slot: Int) -> Seconds { Self.pauses[pauseIndex(slot)] }

  private func pauseIndex(_ slot: Int) -> Int {
    min(Int(entries[slot].tries), Self.pauses.count &- 1)
  }

  /// It is tried again after that pause.
  mutating func tryLater(_ slot: Int) {
    let index = pauseIndex(slot)
    if entries[slot].tries < .max { entries[slot].tries &+= 1 }
    entries[slot].state = .queued
    forget(slot)
    entries.append(slot, to: &later[index])
  }

  private mutating func forget(_ slot: Int) {
    free(entries[slot].body)
    entries[slot].body = nil
  }

  /// It has its end.
  mutating func end(_ slot: Int, as outcome: Outcome) {
    unresolved &-= 1
    switch outcome {
    case .accepted: accepted &+= 1
    case .rejected: rejected &+= 1
    case .unknown: unknown &+= 1
    }
    entries[slot].outcome = outcome
    giveBackRequest(slot)
    if outcome != .accepted || reportsAccepted {
      entries[slot].state = .ended
      waitingOutcomes &+= 1
      entries.append(slot, to: &ended)
    } else {
      giveBackEntry(slot)
    }
  }

  /// Everything without an end gets one.
  mutating func abandon() {
    (again, answered) = (OutboxList(), OutboxList())
    for index in 0..<later.count { later[index] = OutboxList() }
    inFlight = 0
    fresh = 0
    while oldest != 0 { end(Int(oldest) &- 1, as: .unknown) }
  }

  /// Nobody sends its request any more.
  @inline(__always)
  private mutating func giveBackRequest(_ slot: Int) {
    store.release(request(slot).size)
    let (older, newer) = (entries[slot].older, entries[slot].newer)
    if newer == 0 { newest = older } else { entries[Int(newer) &- 1].older = older }
    if older != 0 {
      entries[Int(older) &- 1].newer = newer
      return
    }
    oldest = newer
    if newer == 0 {
      store.freeAll()
    } else {
      store.begin(at: Int(entries[Int(newer) &- 1].place))
    }
  }

  @inline(__always)
  private mutating func giveBackEntry(_ slot: Int) {
    entries[slot].state = .done
    forget(slot)
    entries.append(slot, to: &unused)
  }

  // MARK: Outcomes

  /// The oldest notification without an end.
  var firstUnresolved: UInt32? {
    oldest == 0 ? nil : entries[Int(oldest) &- 1].identifier
  }

  /// The slot of the outcome that came first; `tookOutcome` gives it back.
  var firstOutcome: Int? { ended.isEmpty ? nil : Int(ended.first) &- 1 }

  /// The first outcome was taken.
  mutating func tookOutcome() {
    guard let slot = entries.takeFirst(of: &ended) else { return }
    waitingOutcomes &-= 1
    giveBackEntry(slot)
  }
}
