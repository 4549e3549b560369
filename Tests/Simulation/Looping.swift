import CAPNS

/// A program with an event loop, whose session never waits: what another program gets from one
/// call, it gets from the same call made again whenever the session has gone on.
extension Calling where Self: ~Copyable {
  /// Waits for the session's descriptor, at most until that time, and lets the session go on. False
  /// when the session has closed.
  @discardableResult
  mutating func turn(until time: Int64) -> Bool {
    renewIfWanted()
    world.beginCall("the event loop", lasting: .max / 4)
    let isReady = world.waitForDescriptor(until: time)
    world.endCall()
    // A program may call without need, too.
    guard isReady || world.dice.below(8) == 0 else { return true }
    world.beginCall("process", lasting: 0, waits: false)
    let started = world.clock
    defer {
      let time = world.clock - started
      if time > 5_000_000, world.faults.lapseMax == 0 {
        world.violate("process takes \(time / 1000) us")
      }
      world.endCall()
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

  /// The program's event loop has other things to do as well.
  mutating func loop(for time: Int64) {
    let end = world.clock + time
    while world.clock < end, world.violation == nil { turn(until: end) }
  }

  /// True if every notification has its outcome by that time.
  mutating func drainInLoop(by end: Int64) -> Bool {
    while world.violation == nil {
      world.beginCall("drain", lasting: 0, waits: false)
      let isDone = world.expecting { () throws(Failure) in try awaitEnds(milliseconds: 0) }
      world.endCall()
      if isDone { return true }
      if world.clock >= end { return false }
      turn(until: end)
    }
    return false
  }

  /// The first call's time counts, and not much more.
  mutating func closeInLoop(milliseconds: Int32, by end: Int64) {
    var late = 0
    while world.violation == nil {
      world.beginCall("close", lasting: 0, waits: false)
      let isDone = close(milliseconds: milliseconds)
      world.endCall()
      if isDone { return }
      if world.clock > end + 4 * world.faults.lapseMax { late += 1 }
      if late > 3 { world.violate("close goes on after its time") }
      if !turn(until: .max / 4) { late += 1 }
    }
  }

  /// True if an event was taken.
  mutating func nextEventInLoop(by end: Int64) -> Bool {
    while world.violation == nil {
      world.beginCall("next_event", lasting: 0, waits: false, writes: false)
      let isTaken = try? takeEvent(milliseconds: 0)
      world.endCall()
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
