import CAPNS

/// The program that uses the session: it sends, waits, counts, takes events and checks all results.
protocol Calling: ~Copyable {
  associatedtype Surroundings: Witness
  var world: Surroundings { get }
  var options: SessionOptions { get }
  var lastIdentifier: UInt32 { get set }
  static var mostAtOnce: Int { get }

  /// Draws a notification, passes it to the session and returns its identifier.
  mutating func take() throws(Failure) -> UInt32
  /// Takes an event and checks it; false if none comes in time.
  mutating func takeEvent(milliseconds: Int32) throws(Failure) -> Bool
  /// Checks the rest once everything is over.
  mutating func checkRest()

  /// Fewer outcomes that do not give way leave room.
  var leastFull: Int { get }

  // The session's own functions.
  var hasFullRecord: Bool { get }
  mutating func connect() throws(Failure)
  mutating func write(all: Bool) throws(Failure)
  mutating func awaitMore()
  mutating func awaitEnds(milliseconds: Int32) throws(Failure)
  mutating func process() throws(Failure) -> Bool
  mutating func useCredentials()
  /// When the current push has to end.
  var pushEnds: Nanoseconds { get set }
  func deadline(milliseconds: Int32) -> Nanoseconds
  /// The notification that was taken last is for a push; and its outcome, in time or not.
  mutating func push()
  mutating func pushed(or reason: inout Message) throws(Failure) -> WaitingOutcome
  /// Whether the notification of a push is still unresolved.
  func isOpen(_ number: Int) -> Bool
  /// Fills an event as the caller reads it.
  func fill(_ event: inout apns_event_t, with outcome: WaitingOutcome)
  /// Gives outcomes to the option `on_outcome`, at the end of each call.
  mutating func deliver()
  /// Cancels the notification with that identifier, or all for 0.
  mutating func cancel(_ identifier: UInt32) -> Int
  /// False when the caller has to repeat the call.
  @discardableResult
  mutating func close(milliseconds: Int32) -> Bool
  func count(into stats: inout apns_session_stats_t)
  mutating func measure() -> UnsafePointer<apns_session_metrics_t>
}

extension Calling where Self: ~Copyable {
  /// Plays one run from the first send to the last event.
  mutating func play() {
    defer { world.isBeingFreed = true }
    for _ in 0..<world.actions {
      renewIfWanted()
      cancelIfWanted()
      pushIfWanted()
      act()
      if world.violation != nil { return }
    }
    switch world.dice.below(10) {
    case 0: return world.met(.frees)
    case 1...2: close(isDrained: false)
    default:
      world.isHealed = true
      world.say("faults are over")
      drainWhole()
      if world.violation != nil { return }
      if world.dice.below(2) == 0, world.wantsToTake() { takeEvents() }
      close(isDrained: true)
    }
    guard world.wantsRest() else { return }
    if world.violation == nil { takeEvents() }
    if world.violation == nil { checkEnds() }
  }

  private mutating func act() {
    switch world.dice.below(100) {
    case 0..<30:
      for _ in 0..<world.dice.within(1...world.dice.pick([1, 20])) { sendOne() }
    case 30..<45: sendMany(world.dice.within(1...world.dice.pick([3, 40, Self.mostAtOnce])))
    case 45..<52: flush()
    case 52..<60:
      drain(milliseconds: world.dice.pick([0, 1, 50, 1000, 30_000, APNS_TIMEOUT_DEFAULT]))
    case 60..<86 where !world.wantsToTake(): break
    case 60..<70: nextEvent(milliseconds: 0)
    case 70..<78:
      nextEvent(milliseconds: world.dice.pick([1, 20, 500, 10_000, APNS_TIMEOUT_DEFAULT]))
    case 78..<86: takeEvents()
    case 86..<88: beginConnecting()
    default:
      let time = world.dice.time(
        upTo: world.dice.pick([10_000_000, 3_000_000_000, 90_000_000_000]))
      if world.usesLoop, world.dice.below(4) > 0 { return loop(for: time) }
      world.say("the caller does other things for \(time / 1000) us")
      world.clock += time
    }
    checkStats()
  }

  /// Time to connect and to write.
  private var bothTimeouts: Int64 { options.connectTimeout + options.writeTimeout }

  private func time(_ milliseconds: Int32) -> Int64 {
    milliseconds < 0 ? bothTimeouts + options.answerTimeout : Int64(milliseconds) * 1_000_000
  }

  // MARK: Sending

  /// Does what apns_session_send() does.
  private mutating func sendOne() {
    guard !world.isFull, world.violation == nil else { return }
    world.met(.singles)
    let isMore = world.dice.below(3) == 0
    world.beginCall(
      "send", lasting: options.connectTimeout + 2 * bothTimeouts, waits: !world.usesLoop)
    defer { endCall() }
    guard takeNext() else { return }
    writeTaken(isMore: isMore)
  }

  /// Does what apns_session_send_many() does.
  private mutating func sendMany(_ count: Int) {
    world.met(.arrays)
    let isMore = world.dice.below(3) == 0
    world.beginCall(
      "send_many", lasting: (options.connectTimeout + bothTimeouts) * Int64(count) + bothTimeouts,
      waits: !world.usesLoop)
    defer { endCall() }
    for _ in 0..<count {
      guard !world.isFull, world.violation == nil, takeNext() else { break }
      writeTaken(isMore: true)
    }
    writeTaken(isMore: isMore)
  }

  /// If more is to come, bytes that do not fill a record wait.
  private mutating func writeTaken(isMore: Bool) {
    if isMore, !hasFullRecord {
      awaitMore()
      if world.usesLoop, world.due > world.clock { world.violate("what waits is forgotten") }
      return
    }
    world.expecting { () throws(Failure) in try write(all: !isMore) }
  }

  private mutating func takeNext() -> Bool {
    do throws(Failure) {
      checkIdentifier(try take())
      world.met(.notifications)
      return true
    } catch {
      if error.status == APNS_ERR_AGAIN {
        world.failed(error)
      } else if error.status == APNS_ERR_FULL {
        world.met(.fullOfOutcomes)
        checkFull()
      } else {
        world.met(.failedSends)
        world.failed(error)
      }
      return false
    }
  }

  /// Accepted outcomes alone are not a reason, if they give way.
  private func checkFull() {
    let stats = stats
    if stats.events == 0 { world.violate("APNS_ERR_FULL without an outcome to take") }
    guard world.outcomes == APNS_OUTCOMES_ALL else { return }
    let ended = Int(stats.accepted - stats.forgotten) - world.toldAccepted
    let staying = Int(stats.events) - max(0, ended - world.pushed.early.count)
    if staying <= leastFull { world.violate("full of outcomes, and only \(staying) stay") }
  }

  private mutating func checkIdentifier(_ identifier: UInt32) {
    if identifier == 0 { world.violate("an identifier of 0") }
    if lastIdentifier != 0, Int32(bitPattern: identifier &- lastIdentifier) <= 0 {
      world.violate("\(identifier) after \(lastIdentifier)")
    }
    if identifier < lastIdentifier { world.met(.rounds) }
    lastIdentifier = identifier
  }

  // MARK: Other calls

  /// Does what apns_session_use_credentials() does.
  mutating func renewIfWanted() {
    guard world.renews() else { return }
    world.met(.renewals)
    world.beginCall("use_credentials", lasting: 0, waits: false, writes: false)
    world.call.isStill = true
    world.credentials += 1
    world.noteRenewal()
    useCredentials()
    endCall()
    if world.usesLoop, world.due > world.clock {
      world.violate("new credentials do not wake the event loop")
    }
    checkStats()
  }

  /// Does what apns_session_cancel() does.
  private mutating func cancelIfWanted() {
    guard world.wantsToCancel(), world.taken > 0 else { return }
    world.beginCall("cancel", lasting: 0, waits: false, writes: false)
    world.call.isStill = true
    let before = stats
    let isAll = world.cancelDice.below(3) == 0
    let number = world.taken - 1 - world.cancelDice.below(min(world.taken, 60))
    for each in isAll ? 0..<world.taken : number..<number + 1 { world.noteCancelling(each) }
    world.say(isAll ? "everything is cancelled" : "\(number) is cancelled")
    let told = UInt64(world.told)
    let count = UInt64(cancel(isAll ? 0 : world.identifier(number)))
    endCall()
    world.met(.cancellations, Int(count))
    let reported = stats.events + UInt64(world.told) - told
    if reported != before.events + count || stats.unresolved + count != before.unresolved {
      world.violate("cancel returns \(count), which is wrong")
    }
    if isAll, stats.unresolved > before.in_flight + UInt64(world.offered) {
      world.violate("\(stats.unresolved) are left of all, and fewer were written")
    }
    if world.usesLoop, count > 0, !world.isCalledBack, world.due > world.clock {
      world.violate("cancelled notifications do not wake the event loop")
    }
    checkStats()
  }

  /// Does what apns_session_push() does.
  private mutating func pushIfWanted() {
    guard world.wantsToPush(), !world.isFull, world.violation == nil else { return }
    let milliseconds = world.pushDice.pick(world.pushTimes)
    world.beginCall("push", lasting: time(milliseconds), waits: milliseconds != 0)
    pushEnds = deadline(milliseconds: milliseconds)
    let before = stats
    if takeNext() {
      let number = world.taken - 1
      do throws(Failure) {
        try awaitPush(of: number, since: before)
      } catch {
        world.violate("the push of \(number) fails with \(error.status.rawValue), and was taken")
      }
    } else if stats.taken != before.taken {
      world.violate("a push fails, and took something")
    }
    pushEnds = .max
    endCall()
    checkStats()
  }

  private mutating func awaitPush(
    of number: Int, since before: apns_session_stats_t
  ) throws(Failure) {
    push()
    var reason = Message()
    let outcome = try pushed(or: &reason)
    world.met(.pushes)
    if outcome.outcome == .unknown { world.met(.pushesInDoubt) }
    if outcome.outcome == .accepted, stats.accepted == before.accepted {
      world.violate("the push of \(number) is accepted, and not counted")
    }
    // The session abandons nothing without a cause; a timeout is one.
    let isGivenUp = outcome.outcome == .cancelled || isOpen(number)
    if isGivenUp, reason.count == 0 {
      world.violate("the push of \(number) is abandoned without a cause")
    }
    if isGivenUp || outcome.outcome == .unknown && reason.count > 0 { world.noteCancelling(number) }
    if isOpen(number) { world.pushed.early.append(number) }
    world.pushed.isTelling = true
    told(outcome)
    world.pushed.isTelling = false
    if !world.isTold(number) { world.violate("the push of \(number) returns another one's end") }
  }

  private mutating func beginConnecting() {
    world.beginCall("connect", lasting: options.connectTimeout, waits: !world.usesLoop)
    defer { endCall() }
    world.expecting { () throws(Failure) in try connect() }
  }

  private mutating func flush() {
    world.beginCall("flush", lasting: bothTimeouts, waits: !world.usesLoop)
    defer {
      if !world.usesLoop { world.checkDue() }
      endCall()
    }
    world.expecting { () throws(Failure) in try write(all: true) }
  }

  /// True if every notification has its outcome.
  @discardableResult
  private mutating func drain(milliseconds: Int32) -> Bool {
    if world.usesLoop {
      let isDone = drainInLoop(by: world.clock + time(milliseconds))
      if isDone, stats.unresolved > 0 { world.violate("drained, and something has no end") }
      return isDone
    }
    world.beginCall("drain", lasting: time(milliseconds), waits: milliseconds != 0)
    defer { endCall() }
    let isDone = world.expecting { () throws(Failure) in
      try awaitEnds(milliseconds: milliseconds)
    }
    world.checkDue()
    if isDone, stats.unresolved > 0 { world.violate("drained, and something has no end") }
    return isDone
  }

  /// From here on everything works, so every outcome becomes known.
  private mutating func drainWhole() {
    for _ in 0..<100 {
      let isDone = drain(milliseconds: 1_000_000_000)
      if world.violation != nil { return }
      checkStats()
      if isDone { return world.met(.drains) }
      if world.usesLoop {
        return world.violate("nothing wakes the loop, and not everything has its end")
      }
      world.clock += 1_000_000_000
    }
    world.violate("faults are over, and still not everything has its end")
  }

  private mutating func close(isDrained: Bool) {
    world.met(isDrained ? .closes : .closesUndrained)
    let milliseconds: Int32 = world.dice.pick([0, 10, 1000, 60_000, APNS_TIMEOUT_DEFAULT])
    if world.usesLoop {
      closeInLoop(milliseconds: milliseconds, by: world.clock + time(milliseconds))
    } else {
      world.beginCall("close", lasting: time(milliseconds), waits: milliseconds != 0)
      close(milliseconds: milliseconds)
      endCall()
    }
    checkStats()
  }

  private mutating func takeEvents() {
    while world.violation == nil, nextEvent(milliseconds: 0) {}
  }

  @discardableResult
  private mutating func nextEvent(milliseconds: Int32) -> Bool {
    if world.usesLoop { return nextEventInLoop(by: world.clock + time(milliseconds)) }
    world.beginCall(
      "next_event", lasting: time(milliseconds), waits: milliseconds != 0,
      writes: milliseconds != 0)
    defer { endCall() }
    let (before, line) = (stats, world.onlyLine)
    defer { if milliseconds == 0, gaveUp(since: before) { world.checkHeard(line) } }
    do throws(Failure) {
      if try takeEvent(milliseconds: milliseconds) { return true }
      world.checkDue()
      return false
    } catch {
      world.failed(error)
      return false
    }
  }

  // MARK: Checks

  mutating func endCall() {
    deliver()
    world.endCall()
  }

  func told(_ outcome: WaitingOutcome) {
    var event = apns_event_t()
    fill(&event, with: outcome)
    world.told(event)
  }

  var unresolved: UInt64 { stats.unresolved }

  /// Something in flight has ended as unknown.
  func gaveUp(since before: apns_session_stats_t) -> Bool {
    stats.unknown > before.unknown && stats.in_flight < before.in_flight
  }

  var stats: apns_session_stats_t {
    var stats = apns_session_stats_t()
    count(into: &stats)
    return stats
  }

  private mutating func checkStats() {
    let stats = stats
    var open: [Int] = []
    for number in world.pushed.early where isOpen(number) { open.append(number) }
    world.check(stats, open: open)
    world.check(measure(), stats)
  }

  private mutating func checkEnds() {
    let stats = stats
    if stats.events > 0 || stats.unresolved > 0 {
      world.violate("something is left in a closed session")
    }
    world.checkEnds(accepted: Int(stats.accepted))
    checkRest()
  }

  func checkRest() {}
}
