import CAPNS
import CSystem

/// Every unresolved notification of an HTTP/2 session, its request ready to be resent, and the
/// outcomes that wait for the caller. No I/O and no clock.
///
/// Responses come in any order, so each entry has its own state and its memory is freed separately.
/// Unresolved entries are in a list in queueing order; those from `fresh` on were never sent. Lists
/// refer to an entry by its slot plus one; 0 is nil.
struct Outbox: ~Copyable {
  private let memory: UnsafeMutableRawPointer
  /// Written by the outbox only.
  let entries: UnsafeMutablePointer<OutboxEntry>
  /// How many entries there are.
  let capacity: Int
  private var store: RequestStore
  private let untaken: UnsafeMutablePointer<Untaken>
  private let reporting: Reporting

  /// The first and the last unresolved entry, and the first never sent.
  private var oldest: UInt32 = 0
  private var newest: UInt32 = 0
  private var fresh: UInt32 = 0
  /// Unused entries, reused in that order, so that requests answered in order stay neighbours.
  /// Entries after `touched` were never used.
  private var unused = OutboxList()
  private var touched = 0
  /// Entries to send immediately, because they were sent before or skipped; and later.
  private var again = OutboxList()
  private var later: RetryQueue
  /// Entries to send immediately, but apart from others.
  private var apart = OutboxList()
  /// With the option `device_order`.
  private var order: DeviceOrder?
  /// Something was added to `again` since this was last read.
  private(set) var hasNewAgain = false
  /// Streams that have ended and are not processed yet; and outcomes to return.
  private var responded = OutboxList()
  private var ended = OutboxList()
  /// The number of accepted outcomes that give way.
  private var yielding = 0
  /// The entry of a push, which returns its outcome, as slot plus one; 0 without one.
  private var pushed: UInt32 = 0
  /// When those without an end have to have one.
  private var deadlines = Deadlines()
  /// The text of the response that was returned last.
  private var told: UnsafeMutablePointer<ResponseText>?

  private(set) var inFlight = 0
  private(set) var waitingOutcomes = 0
  private(set) var unresolved = 0
  private(set) var taken: UInt64 = 0
  private(set) var accepted: UInt64 = 0
  private(set) var rejected: UInt64 = 0
  private(set) var unknown: UInt64 = 0
  private(set) var cancelled: UInt64 = 0
  private(set) var expired: UInt64 = 0
  private(set) var resent: UInt64 = 0
  /// For requests that come one at a time: where the response is kept whole. Not owned.
  var whole: UnsafeMutablePointer<WholeResponse>?
  /// The session's counts for a monitoring system, where its connections reach them too.
  let metrics: UnsafeMutablePointer<apns_session_metrics_t>

  /// `bytes` for requests and bookkeeping together; nil when there is no memory.
  init?(bytes: Int, untaken: UnsafeMutablePointer<Untaken>, keepsOrder: Bool) {
    // A quarter for the bookkeeping suits requests of 240 bytes and more.
    var count = 32
    while Self.bookkeeping(count &* 2, keepsOrder) <= bytes / 4 { count &*= 2 }
    let bookkeeping = Self.bookkeeping(count, keepsOrder)
    guard bytes > bookkeeping, bytes < Int(Int32.max), let memory = malloc(bytes) else {
      return nil
    }
    guard let counts = calloc(1, MemoryLayout<apns_session_metrics_t>.size) else {
      free(memory)
      return nil
    }
    metrics = counts.bindMemory(to: apns_session_metrics_t.self, capacity: 1)
    self.memory = memory
    entries = memory.bindMemory(to: OutboxEntry.self, capacity: count)
    capacity = count
    store = RequestStore(memory + bookkeeping, size: bytes &- bookkeeping)
    self.untaken = untaken
    reporting = untaken.pointee.reporting
    let ordering = memory + count &* MemoryLayout<OutboxEntry>.stride
    if keepsOrder { order = DeviceOrder(ordering, capacity: count) }
    later = RetryQueue(
      ordering + (keepsOrder ? DeviceOrder.size(capacity: count) : 0), capacity: count)
    // Connections look at it before anything is taken.
    entries.initialize(to: OutboxEntry(userData: nil, identifier: 0, place: 0))
  }

  /// The size of `count` entries without their requests.
  private static func bookkeeping(_ count: Int, _ keepsOrder: Bool) -> Int {
    count &* MemoryLayout<OutboxEntry>.stride &+ RetryQueue.size(capacity: count)
      &+ (keepsOrder ? DeviceOrder.size(capacity: count) : 0)
  }

  /// Makes an outbox that stays at one address until it is ended.
  static func make(
    bytes: Int, untaken: UnsafeMutablePointer<Untaken>, keepsOrder: Bool
  ) -> UnsafeMutablePointer<Outbox>? {
    guard let memory = malloc(MemoryLayout<Outbox>.size) else { return nil }
    let outbox = memory.bindMemory(to: Outbox.self, capacity: 1)
    if let made = Outbox(bytes: bytes, untaken: untaken, keepsOrder: keepsOrder) {
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
    for slot in 0..<touched {
      (entries + slot).freeBody()
      if entries[slot].state != .done, entries[slot].interest != .told {
        untaken.release(entries[slot].userData)
      }
    }
    told?.end()
    free(metrics)
    free(memory)
  }

  // MARK: Queueing

  var largestRequest: Int { store.size }
  /// Bytes of unresolved requests.
  var live: Int { store.used }
  /// Accepted outcomes are reported.
  @inline(__always)
  var reportsAccepted: Bool { reporting != .failures }
  /// Outcomes that wait and do not give way.
  var stayingOutcomes: Int { waitingOutcomes &- yielding }
  /// Outcomes that do not give way are the obstacle: they hold half of the entries, or all that a
  /// response would not free.
  var isFullOfOutcomes: Bool {
    stayingOutcomes > capacity / 2
      || reporting == .each && waitingOutcomes > 0 && unused.isEmpty && touched == capacity
  }

  /// Where a request of `size` bytes goes; nil if there is no room now.
  @inline(__always)
  mutating func reserve(_ size: Int) -> Int? {
    guard !unused.isEmpty || touched < capacity || yielding > 0 else { return nil }
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

  /// Takes the request that was written to `place`. `id` is the caller's apns-id,
  /// zero for none; `due` is its deadline, `max` for none.
  mutating func commit(
    _ place: Int, size: Int, identifier: UInt32, userData: UnsafeMutableRawPointer?,
    id: InlineArray<16, UInt8>, due: Nanoseconds
  ) {
    let slot = takeEntry()
    let number = UInt32(truncatingIfNeeded: slot &+ 1)
    (entries + slot).initialize(
      to: OutboxEntry(
        userData: userData, identifier: identifier, place: UInt32(truncatingIfNeeded: place),
        id: id, older: newest, due: deadlines.add(due)))
    if newest == 0 { oldest = number } else { entries[Int(newest) &- 1].newer = number }
    newest = number
    store.commit(place, size)
    if order == nil {
      if fresh == 0 { fresh = number }
    } else {
      putInLine(slot)
    }
    taken &+= 1
    unresolved &+= 1
  }

  /// The notification waits for earlier ones to its device.
  @inline(never)
  private mutating func putInLine(_ slot: Int) {
    let (entries, store) = (entries, store)
    let isFirst = order?.add(slot) {
      StoredRequest(UnsafeRawPointer(store.address(Int(entries[$0].place)))).token
    }
    if fresh != 0 { return }
    if isFirst == false {
      _ = order?.passes(slot)
    } else {
      fresh = UInt32(truncatingIfNeeded: slot &+ 1)
    }
  }

  /// Skips entries that wait for earlier ones to their device.
  @inline(never)
  private mutating func passOver() {
    while fresh != 0, order?.passes(Int(fresh) &- 1) == true {
      fresh = entries[Int(fresh) &- 1].newer
    }
  }

  /// The notification is resolved, and the next one to its device may be sent.
  @inline(never)
  private mutating func endTurn(_ slot: Int) {
    guard let next = order?.end(slot), !entries[next].isCancelled else { return }
    entries.append(next, to: &again)
    hasNewAgain = true
  }

  /// An unused entry; `reserve` has made sure of it.
  @inline(__always)
  private mutating func takeEntry() -> Int {
    if let slot = entries.takeFirst(of: &unused) { return slot }
    if touched == capacity {
      giveWay()
      if let slot = entries.takeFirst(of: &unused) { return slot }
    }
    touched &+= 1
    return touched &- 1
  }

  /// The oldest accepted outcomes give way, enough at once to cost a single send next to nothing: a
  /// part of the entries, and one more for eight outcomes that stay before them.
  @inline(never)
  private mutating func giveWay() {
    let part = max(capacity / 64, 1)
    var (staying, stay, gone) = (OutboxList(), 0, 0)
    while gone < part &+ stay / 8, let slot = entries.takeFirst(of: &ended) {
      if entries[slot].outcome == .accepted {
        gone &+= 1
        untaken.release(entries[slot].userData)
        giveBackEntry(slot)
      } else {
        stay &+= 1
        entries.append(slot, to: &staying)
      }
    }
    entries.put(staying, before: &ended)
    yielding &-= gone
    waitingOutcomes &-= gone
    untaken.forget(gone)
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

  /// Whether it waits for the response on that stream.
  @inline(__always)
  func isInFlight(_ slot: Int, on connection: UInt16, _ stream: Int32) -> Bool {
    entries[slot].stream == stream && entries[slot].connection == connection
      && entries[slot].state == .inFlight
  }

  // MARK: Sending

  /// Nothing waits to be sent, now or later.
  @inline(__always)
  var hasNothingToSend: Bool {
    again.isEmpty && fresh == 0 && later.next == nil && apart.isEmpty
  }

  /// A notification to be sent apart waits.
  @inline(__always)
  var hasApart: Bool { !apart.isEmpty }

  /// Something else may be sent now.
  func isDue(at now: Nanoseconds) -> Bool {
    if !again.isEmpty || fresh != 0 { return true }
    guard let next = later.next else { return false }
    return next <= now
  }

  /// Whether something that can be sent immediately was added since the last call, by a response
  /// that came after some connections' pass.
  @inline(__always)
  mutating func takeNewAgain() -> Bool {
    guard hasNewAgain else { return false }
    hasNewAgain = false
    return !again.isEmpty || !apart.isEmpty
  }

  /// When the first retry may be sent.
  @inline(__always)
  var nextTry: Nanoseconds? { later.next }

  /// The slot of the next one to be sent.
  mutating func takeDue(at now: Nanoseconds) -> Int? {
    if let slot = entries.takeFirst(of: &again) { return slot }
    while later.next != nil, let slot = later.take(at: now) {
      guard FlightLimit.isApart(entries[slot].ends) else { return slot }
      entries.append(slot, to: &apart)
      hasNewAgain = true
    }
    guard fresh != 0 else { return nil }
    let slot = Int(fresh) &- 1
    fresh = entries[slot].newer
    if order != nil { passOver() }
    return slot
  }

  /// The next notification to be sent apart.
  mutating func takeApart() -> Int? { entries.takeFirst(of: &apart) }

  /// It could not be sent after all, and is the next one again.
  mutating func putBack(_ slot: Int) {
    if FlightLimit.isApart(entries[slot].ends) {
      entries.prepend(slot, to: &apart)
    } else if again.isEmpty, entries[slot].sentAt == 0, entries[slot].newer == fresh {
      fresh = UInt32(truncatingIfNeeded: slot &+ 1)
    } else {
      entries.prepend(slot, to: &again)
    }
  }

  /// `token` is the generation of the provider token that it was sent with.
  mutating func sent(
    _ slot: Int, on connection: UInt16, stream: Int32, token: UInt32, at time: SendTime
  ) {
    entries[slot].state = .inFlight
    entries[slot].connection = connection
    entries[slot].stream = stream
    entries[slot].tokenGeneration = token
    entries[slot].status = 0
    entries[slot].isWhole = false
    entries[slot].isReset = false
    (entries[slot].bodyLength, entries[slot].bodyHeard) = (0, 0)
    entries[slot].isRefused = false
    entries[slot].sent = 0
    if entries[slot].sentAt != 0 { resent &+= 1 }
    entries[slot].sentAt = max(time.second, 1)
    entries[slot].sentFraction = time.fraction
    inFlight &+= 1
  }

  // MARK: State of one entry

  /// The apns-id, or a broadcast's apns-request-id. All zero: none.
  func id(_ slot: Int) -> InlineArray<16, UInt8> { entries[slot].id }
  /// The status of its response so far; 0: none yet.
  func status(_ slot: Int) -> UInt16 { entries[slot].status }
  /// Since when its retry timeout runs: since the first response that requests a retry.
  func age(_ slot: Int, at now: Nanoseconds) -> Milliseconds {
    let time = UInt32(truncatingIfNeeded: now / 1_000_000)
    if entries[slot].tries == 0 { entries[slot].patientSince = time }
    return Milliseconds(time &- entries[slot].patientSince)
  }
  func sentAt(_ slot: Int) -> Seconds { entries[slot].sentAt }
  /// How long before that time it was last sent.
  func flightTime(_ slot: Int, until time: SendTime) -> Nanoseconds {
    time.since(SendTime(entries[slot].sentAt, entries[slot].sentFraction))
  }
  func stream(_ slot: Int) -> Int32 { entries[slot].stream }
  /// Bytes of its payload that its stream has not taken.
  func unsent(_ slot: Int) -> Int { request(slot).payload.count &- Int(entries[slot].sent) }
  /// The number of the connection that it was last sent on.
  func connection(_ slot: Int) -> Int { Int(entries[slot].connection) }
  func isRefused(_ slot: Int) -> Bool { entries[slot].isRefused }
  func isReset(_ slot: Int) -> Bool { entries[slot].isReset }
  func isCancelled(_ slot: Int) -> Bool { entries[slot].isCancelled }
  func refusals(_ slot: Int) -> UInt8 { entries[slot].refusals }
  func doubts(_ slot: Int) -> UInt8 { entries[slot].doubts }
  func turnedAway(_ slot: Int) -> UInt8 { entries[slot].turnedAway }
  func ends(_ slot: Int) -> UInt8 { entries[slot].ends }

  // MARK: Results of one entry

  /// The peer has not processed it.
  mutating func refuse(_ slot: Int) { entries[slot].isRefused = true }

  /// The generation of the provider token that was refused with it. Nil the second time: each entry
  /// requests one new token.
  mutating func takeRefusedToken(_ slot: Int) -> UInt32? {
    guard !entries[slot].hasNewToken else { return nil }
    entries[slot].hasNewToken = true
    return entries[slot].tokenGeneration
  }

  /// Represents the token of credentials that the session no longer uses.
  static var replacedToken: UInt32 { .max }

  /// It was sent with such a token, if with any.
  mutating func tokenReplaced(_ slot: Int) { entries[slot].tokenGeneration = Self.replacedToken }

  /// Some unresolved notification names no topic.
  var lacksTopic: Bool {
    var isLacking = false
    forEachWithoutEnd { if request($0).topic.count == 0 { isLacking = true } }
    return isLacking
  }

  /// Its stream has ended; `takeResponded` returns it. If it was neither answered nor refused, it is
  /// in doubt.
  mutating func streamEnded(_ slot: Int) {
    guard entries[slot].state == .inFlight else { return }
    inFlight &-= 1
    if !entries[slot].hasResponse {
      entries[slot].status = 0
      if !entries[slot].isRefused { noteDoubt(slot) }
    }
    entries[slot].state = .responded
    entries.append(slot, to: &responded)
  }

  private func noteDoubt(_ slot: Int) {
    // What an earlier answer asked for says nothing about this try.
    entries[slot].lastStatus = 0
    if entries[slot].doubts < .max { entries[slot].doubts &+= 1 }
  }

  mutating func takeResponded() -> Int? { entries.takeFirst(of: &responded) }

  /// Everything that a connection had in flight is handled like a response, in order.
  @inline(never)
  mutating func connectionEnded(_ connection: UInt16) {
    forEachInFlight(on: connection) {
      if !$0.isRefused($1), $0.ends($1) < .max { $0.entries[$1].ends &+= 1 }
      $0.streamEnded($1)
    }
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

  /// Reads the body of a response with a status other than 200. `isRepeated`: it has the same
  /// reason as the last time. `goneSince` is in UNIX milliseconds, 0 if missing.
  mutating func readResponse(_ slot: Int) -> (reason: Reason, goneSince: Int64, isRepeated: Bool) {
    let reason = entries[slot].body?.pointee.reason() ?? .other
    let isRepeated = entries[slot].lastReason == reason
    note(reason, slot)
    return (reason, entries[slot].body?.pointee.goneSince ?? 0, isRepeated)
  }

  /// If it becomes unknown, its event carries that response.
  mutating func note(_ reason: Reason, _ slot: Int) {
    entries[slot].lastStatus = entries[slot].status
    entries[slot].lastReason = reason
  }

  /// It is resent immediately.
  mutating func sendAgain(_ slot: Int) {
    whole?.pointee.clear()
    entries[slot].state = .queued
    forget(slot)
    if FlightLimit.isApart(entries[slot].ends) {
      entries.append(slot, to: &apart)
    } else {
      entries.append(slot, to: &again)
    }
    hasNewAgain = true
  }

  /// How often its response requested a retry before.
  func tries(_ slot: Int) -> Int { Int(entries[slot].tries) }

  /// Its response's retry-after in seconds; 0: missing.
  func retryAfter(_ slot: Int) -> Seconds { entries[slot].body?.pointee.retryAfter ?? 0 }

  /// It is retried at that time.
  mutating func tryLater(_ slot: Int, at due: Nanoseconds) {
    whole?.pointee.clear()
    entries[slot].asked = retryAfter(slot)
    if entries[slot].tries < .max { entries[slot].tries &+= 1 }
    entries[slot].state = .queued
    forget(slot)
    later.add(slot, due: due)
  }

  private mutating func forget(_ slot: Int) { (entries + slot).freeBody() }

  /// Whether a request that may have arrived may be resent, although the response could differ.
  var mayRepeat: Bool {
    guard let whole else { return true }
    return !whole.pointee.isOnce && !whole.pointee.isSpoilt
  }

  /// An unresolved request may have arrived.
  var isAnyInFlight: Bool { inFlight > 0 || !responded.isEmpty }

  /// It is resolved.
  mutating func end(_ slot: Int, as outcome: Outcome) {
    unresolved &-= 1
    switch outcome {
    case .accepted: accepted &+= 1
    case .rejected: rejected &+= 1
    case .unknown: unknown &+= 1
    case .cancelled: cancelled &+= 1
    case .expired: expired &+= 1
    }
    entries[slot].outcome = outcome
    if order != nil { endTurn(slot) }
    giveBackRequest(slot)
    if pushed == UInt32(truncatingIfNeeded: slot &+ 1) {
      entries[slot].state = .ended
    } else if outcome != .accepted || reportsAccepted, entries[slot].interest != .told {
      entries[slot].state = .ended
      waitingOutcomes &+= 1
      if outcome == .accepted, reporting == .all { yielding &+= 1 }
      entries.append(slot, to: &ended)
    } else {
      if entries[slot].interest != .told { untaken.release(entries[slot].userData) }
      giveBackEntry(slot)
    }
  }

  /// Stops sending the notification with that identifier, or all for 0. Waiting ones are resolved;
  /// the rest keep waiting for their responses. Returns how many are resolved.
  @inline(never)
  mutating func cancel(_ identifier: UInt32) -> Int {
    var next = oldest
    while next != 0 {
      let slot = Int(next) &- 1
      next = entries[slot].newer
      if identifier != 0, entries[slot].identifier != identifier { continue }
      if !entries[slot].isCancelled { entries[slot].interest = .cancelled }
      if identifier != 0 { break }
    }
    let before = unresolved
    endTakenBack { _ in }
    return before &- unresolved
  }

  /// Resolves waiting notifications that are not wanted any more.
  @inline(never)
  private mutating func endTakenBack(_ rejected: (Reason) -> Void) {
    entries.removeCancelled(from: &again)
    entries.removeCancelled(from: &apart)
    let entries = entries
    later.keep { !entries[$0].isCancelled }
    var next = oldest
    while next != 0 {
      let slot = Int(next) &- 1
      next = entries[slot].newer
      guard entries[slot].isCancelled, entries[slot].state == .queued else { continue }
      if fresh == UInt32(truncatingIfNeeded: slot &+ 1) { fresh = next }
      if entries[slot].interest == .expired { endDue(slot, rejected) } else { endCancelled(slot) }
    }
    if order != nil { passOver() }
  }

  /// It has not arrived, unless an earlier try may have.
  mutating func endCancelled(_ slot: Int) {
    end(slot, as: entries[slot].doubts == 0 ? .cancelled : .unknown)
  }

  // MARK: Deadlines

  /// Nothing has to have its end before; `max`: nothing ever.
  @inline(__always)
  var nextDeadline: Nanoseconds { deadlines.first }

  /// Gives those their ends that are due; where `onlyWaiting`, only if they are not in flight. `giveUp`
  /// gives up the stream of one in flight, and says whether any of its request may have been written;
  /// `rejected` hears of those that end by an answer that asked for another try.
  @inline(never)
  mutating func expire(
    at now: Nanoseconds, onlyWaiting: Bool, giveUp: (inout Outbox, Int) -> Bool,
    rejected: (Reason) -> Void
  ) {
    var (first, queued, looked) = (Nanoseconds.max, 0, 0)
    var next = oldest
    while next != 0 {
      let slot = Int(next) &- 1
      next = entries[slot].newer
      looked &+= 1
      let due = deadlines.time(of: entries[slot].due)
      if due > now {
        first = min(first, due)
        if deadlines.areSorted, due < .max { break }
      } else if entries[slot].state == .queued {
        entries[slot].interest = .expired
        queued &+= 1
      } else if onlyWaiting {
        first = now
      } else if entries[slot].state == .inFlight {
        let isBegun = giveUp(&self, slot)
        // The rest of its request was missing, of which nobody wants to know.
        if entries[slot].hasResponse {
          streamEnded(slot)
        } else {
          giveUpResponse(slot, isBegun, rejected)
        }
        if entries[slot].state == .responded { first = now }
      }
    }
    if queued > 0 { endTakenBack(rejected) }
    // If deadlines differ, each look checks all of them, so a large window is not checked each ms.
    if !deadlines.areSorted, first < .max {
      first = max(first, now &+ Int64(looked >> 13) &* 1_000_000)
    }
    deadlines.looked(first: first, at: now)
  }

  /// The slots of those that have no end.
  func forEachWithoutEnd(_ body: (Int) -> Void) {
    var next = oldest
    while next != 0 {
      body(Int(next) &- 1)
      next = entries[Int(next) &- 1].newer
    }
  }

  private mutating func giveUpResponse(
    _ slot: Int, _ isBegun: Bool, _ rejected: (Reason) -> Void
  ) {
    inFlight &-= 1
    if isBegun { noteDoubt(slot) }
    endDue(slot, rejected)
  }

  /// It is not sent again, for it is due.
  func isDue(_ slot: Int, at now: Nanoseconds) -> Bool {
    deadlines.time(of: entries[slot].due) <= now
  }

  /// The last answer counts, if it asked for another try. Without one the notification is known not to
  /// have arrived, unless a try is in doubt.
  mutating func endDue(_ slot: Int, _ rejected: (Reason) -> Void) {
    guard entries[slot].lastStatus != 0 else {
      return end(slot, as: entries[slot].doubts == 0 ? .expired : .unknown)
    }
    if entries[slot].interest != .told { entries[slot].interest = .expired }
    rejected(entries[slot].lastReason)
    end(slot, as: .rejected(status: entries[slot].lastReason.reject))
  }

  /// Everything without an end gets one.
  mutating func abandon() {
    (again, apart, responded) = (OutboxList(), OutboxList(), OutboxList())
    later.forgetAll()
    order = nil
    inFlight = 0
    fresh = 0
    while oldest != 0 { end(Int(oldest) &- 1, as: .unknown) }
  }

  /// Its request is not needed any more.
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
      deadlines.forget()
    } else {
      store.begin(at: Int(entries[Int(newer) &- 1].place))
    }
  }

  @inline(__always)
  private mutating func giveBackEntry(_ slot: Int) {
    entries[slot].state = .done
    if entries[slot].body != nil { forget(slot) }
    entries.append(slot, to: &unused)
  }

  // MARK: Outcomes

  /// The oldest unresolved notification.
  var firstUnresolved: UInt32? {
    oldest == 0 ? nil : entries[Int(oldest) &- 1].identifier
  }

  /// Takes the outcome that came first. The text of its response stays until the next one is taken.
  mutating func takeOutcome() -> WaitingOutcome? {
    guard !ended.isEmpty else { return nil }
    let entry = entries + (Int(ended.first) &- 1)
    let taken = WaitingOutcome(
      outcome: entry.pointee.outcome, identifier: entry.pointee.identifier,
      userData: entry.pointee.userData, response: entry.pointee.response)
    tookOutcome()
    return taken
  }

  // MARK: A push

  var isPushing: Bool { pushed != 0 }
  func isPushed(_ entry: UnsafeMutablePointer<OutboxEntry>) -> Bool {
    pushed != 0 && entry == entries + (Int(pushed) &- 1)
  }
  var hasPushed: Bool { pushed != 0 && entries[Int(pushed) &- 1].state == .ended }

  /// The outcome of the notification queued last is for a push.
  mutating func push() { pushed = newest }

  /// Takes the outcome of the push, which is unknown without a response. A later one is then not
  /// reported.
  mutating func takePushed() -> WaitingOutcome? {
    guard pushed != 0 else { return nil }
    let slot = Int(pushed) &- 1
    let entry = entries + slot
    pushed = 0
    let taken = WaitingOutcome(
      outcome: entry.pointee.outcome, identifier: entry.pointee.identifier,
      userData: entry.pointee.userData, response: entry.pointee.response)
    if entry.pointee.state == .ended { report(slot) } else { entry.pointee.interest = .told }
    return taken
  }

  private mutating func tookOutcome() {
    guard let slot = entries.takeFirst(of: &ended) else { return }
    waitingOutcomes &-= 1
    if yielding > 0, entries[slot].outcome == .accepted { yielding &-= 1 }
    report(slot)
  }

  private mutating func report(_ slot: Int) {
    told?.end()
    told = entries[slot].body
    entries[slot].body = nil
    giveBackEntry(slot)
  }
}
