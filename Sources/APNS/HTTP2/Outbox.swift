#if APNS_HTTP2
  import CSystem

  /// Every notification of a session over HTTP/2 that has no end yet, its request ready to
  /// be sent again, and the ends nobody has taken yet. No I/O and no clock.
  ///
  /// Answers come in any order, so each entry has a state of its own; memory is given back
  /// in the order in which it was taken. Positions count notifications, a position's slot
  /// is what is left of it by the mask:
  ///
  ///     start ..< end     are kept
  ///     fresh ..< end     were never sent
  struct Outbox: ~Copyable {
    private let memory: UnsafeMutableRawPointer
    let entries: UnsafeMutablePointer<OutboxEntry>
    private let mask: Int
    private var ring: FrameRing
    let reportsAccepted: Bool

    private var start = 0
    private var end = 0
    private var fresh = 0
    /// The first whose request is kept.
    private var kept = 0
    /// To be sent again at once; and later, those of each try in a list of their own, so
    /// that each list is in the order of its times.
    private var again = OutboxList()
    private var later = InlineArray<6, OutboxList>(repeating: OutboxList())
    /// Seconds until the next try; the last is that of all tries that follow.
    static let pauses: InlineArray<6, UInt32> = [1, 2, 4, 8, 16, 32]
    /// Streams that have ended, to be looked at; and ends, to be taken.
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

    /// `bytes` for requests and bookkeeping together; nil where there is no memory.
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
      mask = count &- 1
      ring = FrameRing(memory + bookkeeping, size: bytes &- bookkeeping)
      self.reportsAccepted = reportsAccepted
      // Connections look at it before anything was taken.
      entries.initialize(to: OutboxEntry(userData: nil, identifier: 0, place: 0, takenAt: 0))
    }

    /// One that stays where it is in memory, until it is ended.
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
      for position in start..<end { free(entries[position & mask].body) }
      free(memory)
    }

    // MARK: Queueing

    var largestRequest: Int { ring.size }
    /// Bytes of requests that are kept.
    var live: Int { ring.live }
    var isFullOfOutcomes: Bool { waitingOutcomes > mask / 2 }

    /// Where a request of `size` bytes goes; nil where there is no room now.
    @inline(__always)
    func reserve(_ size: Int) -> Int? {
      end &- start <= mask ? ring.place(for: size, spare: 0) : nil
    }

    @inline(__always)
    func address(_ place: Int) -> UnsafeMutableRawPointer { ring.address(place) }

    /// Takes the request that was put at `place`; its slot.
    mutating func commit(
      _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
      at second: UInt32
    ) -> Int {
      let slot = end & mask
      entries[slot] = OutboxEntry(
        userData: userData, identifier: identifier, place: UInt32(truncatingIfNeeded: place),
        takenAt: second)
      ring.commit(place, size)
      ring.wrote(size)
      end &+= 1
      taken &+= 1
      unresolved &+= 1
      return slot
    }

    func request(_ slot: Int) -> StoredRequest {
      StoredRequest(UnsafeRawPointer(ring.address(Int(entries[slot].place))))
    }

    /// The slot taken next behind that one, as far as there is one.
    @inline(__always)
    func slot(behind slot: Int) -> Int {
      let next = (slot &+ 1) & mask
      return next == end & mask ? slot : next
    }

    /// Whether it waits for the answer to that stream.
    @inline(__always)
    func isInFlight(_ slot: Int, on connection: UInt16, _ stream: Int32) -> Bool {
      entries[slot].stream == stream && entries[slot].connection == connection
        && entries[slot].state == .inFlight
    }

    // MARK: Sending

    /// Something may be sent now.
    func isDue(at second: UInt32) -> Bool {
      if !again.isEmpty || fresh < end { return true }
      return nextTry.map { Int32(bitPattern: second &- $0) >= 0 } ?? false
    }

    /// Something waits to be sent, now or later.
    var hasQueued: Bool { unresolved > inFlight }

    /// The second at which the first of those that wait for another try may have it.
    var nextTry: UInt32? {
      var next: UInt32?
      for index in 0..<later.count where !later[index].isEmpty {
        let due = dueTime(index)
        if let other = next, Int32(bitPattern: due &- other) >= 0 { continue }
        next = due
      }
      return next
    }

    private func dueTime(_ index: Int) -> UInt32 {
      entries[Int(later[index].first) &- 1].sentAt &+ Self.pauses[index]
    }

    /// The slot of what is to be sent next.
    mutating func takeDue(at second: UInt32) -> Int? {
      if let slot = entries.takeFirst(of: &again) { return slot }
      for index in 0..<later.count where !later[index].isEmpty {
        if Int32(bitPattern: second &- dueTime(index)) >= 0 {
          return entries.takeFirst(of: &later[index])
        }
      }
      guard fresh < end else { return nil }
      fresh &+= 1
      return (fresh &- 1) & mask
    }

    /// It could not be sent after all, and is the next again.
    mutating func putBack(_ slot: Int) {
      if again.isEmpty, slot == (fresh &- 1) & mask, entries[slot].sentAt == 0 {
        fresh &-= 1
      } else {
        entries.append(slot, to: &again)
      }
    }

    mutating func sent(_ slot: Int, on connection: UInt16, stream: Int32, at second: UInt32) {
      entries[slot].state = .inFlight
      entries[slot].connection = connection
      entries[slot].stream = stream
      entries[slot].status = 0
      entries[slot].isRefused = false
      entries[slot].sent = 0
      if entries[slot].sentAt != 0 { resent &+= 1 }
      entries[slot].sentAt = max(second, 1)
      inFlight &+= 1
    }

    // MARK: What comes of it

    /// Its stream has ended; what that means is for `takeAnswered` to be asked.
    mutating func streamEnded(_ slot: Int) {
      guard entries[slot].state == .inFlight else { return }
      inFlight &-= 1
      entries[slot].state = .answered
      entries.append(slot, to: &answered)
    }

    mutating func takeAnswered() -> Int? { entries.takeFirst(of: &answered) }

    /// All that a connection had in flight goes the way of what was answered, in order.
    @inline(never)
    mutating func connectionEnded(_ connection: UInt16) {
      forEachInFlight(on: connection) { $0.streamEnded($1) }
    }

    /// Those in flight on a connection, the oldest first.
    mutating func forEachInFlight(
      on connection: UInt16, _ body: (inout Outbox, Int) -> Void
    ) {
      for position in start..<fresh {
        let slot = position & mask
        if entries[slot].state == .inFlight, entries[slot].connection == connection {
          body(&self, slot)
        }
      }
    }

    /// It is sent again, at once.
    mutating func sendAgain(_ slot: Int) {
      entries[slot].state = .queued
      forget(slot)
      entries.append(slot, to: &again)
    }

    /// So many seconds pass before it would be tried again.
    func pause(_ slot: Int) -> UInt32 { Self.pauses[pauseIndex(slot)] }

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
      if outcome != .accepted || reportsAccepted {
        entries[slot].state = .ended
        waitingOutcomes &+= 1
        entries.append(slot, to: &ended)
      } else {
        entries[slot].state = .done
        forget(slot)
      }
      giveBack()
    }

    /// Everything without an end gets one.
    mutating func abandon() {
      (again, answered) = (OutboxList(), OutboxList())
      for index in 0..<later.count { later[index] = OutboxList() }
      inFlight = 0
      for position in start..<end {
        switch entries[position & mask].state {
        case .queued, .inFlight, .answered: end(position & mask, as: .unknown)
        case .ended, .done: break
        }
      }
      fresh = end
    }

    /// Memory of what has its end, as far as all before it has one too.
    private mutating func giveBack() {
      while kept < end, isOver(kept) { kept &+= 1 }
      if kept == end { ring.freeAll() } else { ring.free(before: Int(entries[kept & mask].place)) }
      while start < kept, entries[start & mask].state == .done { start &+= 1 }
    }

    private func isOver(_ position: Int) -> Bool {
      let state = entries[position & mask].state
      return state == .ended || state == .done
    }

    // MARK: Outcomes

    /// The oldest notification without an end.
    var firstUnresolved: UInt32? { kept < end ? entries[kept & mask].identifier : nil }

    /// The slot of the end that came first; it is given back by `taken`.
    var firstOutcome: Int? { ended.isEmpty ? nil : Int(ended.first) &- 1 }

    /// The first outcome was taken.
    mutating func tookOutcome() {
      guard let slot = entries.takeFirst(of: &ended) else { return }
      waitingOutcomes &-= 1
      entries[slot].state = .done
      forget(slot)
      giveBack()
    }
  }
#endif
