import CAPNS

/// A program with an event loop, whose session never waits: where another program makes one call,
/// it repeats the call whenever the session has made progress, with the same result. The program
/// calls when the session's descriptor is readable, and where it calls without need, nothing comes
/// of it.
extension Calling where Self: ~Copyable {
  /// Waits for the session's descriptor, at most until that time, and lets the session continue.
  /// False when the session has closed.
  @discardableResult
  mutating func turn(until time: Int64) -> Bool {
    renewIfWanted()
    world.beginCall("the event loop", lasting: .max / 4)
    let isReady = world.waitForDescriptor(until: someTime(until: time))
    world.endCall()
    // A program may call without need, too.
    guard isReady || world.dice.below(4) == 0 else { return true }
    let before = beforeCall()
    defer { checkCall(before) }
    return processOnce()
  }

  private mutating func processOnce() -> Bool {
    world.beginCall("process", lasting: 0, waits: false)
    let started = world.clock
    defer {
      let time = world.clock - started
      if time > 5_000_000, world.faults.lapseMax == 0 {
        world.violate("process takes \(time / 1000) us")
      }
      endCall()
    }
    let (before, line) = (stats, world.onlyLine)
    defer {
      world.checkDue()
      if gaveUp(since: before) { world.checkHeard(line) }
    }
    do throws(Failure) {
      return try process()
    } catch {
      if error.status == APNS_ERR_AGAIN { world.violate("process says: not yet") }
      if world.deeds == world.deedsTold { world.violate("process tells old news") }
      world.deedsTold = world.deeds
      world.failed(error)
      return true
    }
  }

  // MARK: Calls without need

  /// Now and then a time before the session wants to be called.
  private func someTime(until time: Int64) -> Int64 {
    let due = min(world.due, time)
    guard due > world.clock, world.dice.below(4) == 0 else { return time }
    return world.clock + world.dice.time(upTo: due - world.clock)
  }

  /// The session's steps, what it has read, and when it wants to be called, before a call that it
  /// has not asked for; nil if it has.
  private func beforeCall() -> (steps: Int, news: Int, due: Int64)? {
    world.hasSomethingToDo || world.mayAskAgain ? nil : (world.stepsForward, world.news, world.due)
  }

  /// A call that the session had not asked for must not find anything to do: a program that waits
  /// for the session would never have done it, or later.
  private func checkCall(_ before: (steps: Int, news: Int, due: Int64)?) {
    guard let before, world.stepsForward != before.steps, world.news == before.news,
      world.clock < before.due, !world.isAnyReady
    else { return }
    let left = before.due == .max ? "ever" : "for \((before.due - world.clock) / 1000) us"
    world.violate("there is something to do, and nobody would have been woken \(left)")
  }

  // MARK: Other calls

  /// The program's event loop has other things to do as well.
  mutating func loop(for time: Int64) {
    let end = world.clock + time
    while world.clock < end, world.violation == nil { turn(until: end) }
  }

  /// True if every notification has its outcome by that time. The first call's work continues.
  mutating func drainInLoop(by end: Int64) -> Bool {
    if drainOnce() { return true }
    while world.violation == nil, world.clock < end {
      turn(until: end)
      guard unresolved == 0 || world.dice.below(8) == 0 else { continue }
      let before = beforeCall()
      let isDone = drainOnce()
      checkCall(before)
      if isDone { return true }
      if unresolved == 0 { world.violate("drain continues after all outcomes") }
    }
    return false
  }

  private mutating func drainOnce() -> Bool {
    world.beginCall("drain", lasting: 0, waits: false)
    defer { endCall() }
    return world.expecting { () throws(Failure) in try awaitEnds(milliseconds: 0) }
  }

  /// The first call's time counts, and not much more.
  mutating func closeInLoop(milliseconds: Int32, by end: Int64) {
    if closeOnce(milliseconds: milliseconds) { return }
    while world.violation == nil {
      let isOpen = turn(until: .max / 4)
      if isOpen, world.clock > end + 5_000_000 + 4 * world.faults.lapseMax {
        world.violate("close continues after its deadline")
      }
      guard !isOpen || world.dice.below(8) == 0 else { continue }
      let isDone = closeOnce(milliseconds: milliseconds)
      if isDone { return }
      if !isOpen { world.violate("close continues, though process has closed the session") }
    }
  }

  private mutating func closeOnce(milliseconds: Int32) -> Bool {
    world.beginCall("close", lasting: 0, waits: false)
    defer { endCall() }
    return close(milliseconds: milliseconds)
  }

  /// True if an event was taken.
  mutating func nextEventInLoop(by end: Int64) -> Bool {
    while world.violation == nil {
      world.beginCall("next_event", lasting: 0, waits: false, writes: false)
      let isTaken = try? takeEvent(milliseconds: 0)
      endCall()
      guard let isTaken else {
        world.violate("next_event fails")
        return false
      }
      if isTaken { return true }
      if world.clock >= end || unresolved == 0 { return false }
      turn(until: end)
    }
    return false
  }
}
