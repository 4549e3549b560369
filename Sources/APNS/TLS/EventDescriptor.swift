import CAPNS
import CSystem

/// One descriptor for an application's event loop, instead of all those of a session or a feedback:
/// readable while one of them is ready as wanted, when a time has come, and after `ring`. Stays the
/// same while the others come and go.
struct EventDescriptor: ~Copyable {
  /// An epoll instance over the others, the timer and the wakeup eventfd.
  let descriptor: CInt
  private let timer: CInt
  /// Written by other threads, and if there is something to do immediately: that costs much less
  /// than an expired timer.
  let wakeup: CInt
  private let count: Int
  private let watched: UnsafeMutablePointer<Watched>
  /// The result of the last poll.
  private let ready: UnsafeMutablePointer<csystem_ready>
  /// When the timer expires; `max`: never.
  private var set: Nanoseconds = .max
  /// The latest time with something to do. The timer may expire sooner, but never later.
  private var armed: Nanoseconds = .max
  /// `wake` has written to the wakeup eventfd.
  private var isWoken = false
  /// The kernel did not accept a descriptor for lack of memory, so it must be polled.
  private var isBlind = false
  /// The descriptors belong to another process, which shares the epoll instance.
  private var isSilent = false

  /// The epoll instance's entry for a connection.
  private struct Watched {
    var descriptor: CInt = -1
    var events: Int16 = 0
  }

  /// How often unwatched descriptors are polled.
  private static let blindInterval: Nanoseconds = 10_000_000
  /// The timer is set to a later time only if it is this much later. It rarely expires for nothing,
  /// and need not be set with each answer.
  private static let slack: Nanoseconds = 1_000_000_000

  init(connections count: Int) throws(Failure) {
    guard
      let watched = malloc(count &* MemoryLayout<Watched>.stride)?
        .bindMemory(to: Watched.self, capacity: count)
    else { throw .outOfMemory }
    guard
      let ready = malloc((count &+ 2) &* MemoryLayout<csystem_ready>.stride)?
        .bindMemory(to: csystem_ready.self, capacity: count &+ 2)
    else {
      free(watched)
      throw .outOfMemory
    }
    watched.initialize(repeating: Watched(), count: count)
    let epoll = csystem_epoll()
    let timer = csystem_timer()
    let wakeup = csystem_wakeup()
    guard epoll >= 0, timer >= 0, wakeup >= 0,
      csystem_epoll_add(epoll, timer, Readiness.reading.rawValue, Self.number(count)) == 0,
      csystem_epoll_add(epoll, wakeup, Readiness.reading.rawValue, Self.number(count &+ 1)) == 0
    else {
      let failure = Failure(
        APNS_ERR_MEMORY, "cannot make a descriptor for an event loop",
        systemError: csystem_errno())
      if epoll >= 0 { _ = close(epoll) }
      if timer >= 0 { _ = close(timer) }
      if wakeup >= 0 { _ = close(wakeup) }
      free(watched)
      free(ready)
      throw failure
    }
    (descriptor, self.timer, self.wakeup, self.count) = (epoll, timer, wakeup, count)
    self.watched = watched
    self.ready = ready
  }

  deinit {
    _ = close(descriptor)
    _ = close(timer)
    _ = close(wakeup)
    free(watched)
    free(ready)
  }

  private static func number(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: index) }

  /// From now on the connection of that number is watched for `events`; if empty, not at all.
  mutating func watch(_ number: Int, _ descriptor: CInt, for events: Int16) {
    guard number >= 0, number < count else { return }
    guard descriptor >= 0, events != 0 else { return forget(number) }
    let known = watched[number]
    if known.descriptor == descriptor, known.events == events { return }
    if isSilent { return }
    if known.descriptor == descriptor {
      if csystem_epoll_change(self.descriptor, descriptor, events, Self.number(number)) == 0 {
        watched[number].events = events
        return
      }
    }
    forget(number)
    if csystem_epoll_add(self.descriptor, descriptor, events, Self.number(number)) == 0 {
      watched[number] = Watched(descriptor: descriptor, events: events)
    } else {
      isBlind = true
    }
  }

  /// The connection of that number is about to close its descriptor. A copy of it in another
  /// process would keep it in the epoll instance.
  mutating func forget(_ number: Int) {
    guard number >= 0, number < count, watched[number].descriptor >= 0 else { return }
    if !isSilent { csystem_epoll_remove(descriptor, watched[number].descriptor) }
    watched[number] = Watched()
  }

  /// The latest time at which there is something to do; 0: now.
  var due: Nanoseconds { isWoken ? 0 : armed }

  /// There is something to do at that time, if nothing is ready sooner.
  mutating func arm(until time: Nanoseconds) {
    if time <= 0 { return wake() }
    var time = time
    if isBlind {
      time = min(time, Deadline.now &+ Self.blindInterval)
      isBlind = false
    }
    armed = time
    guard time != set, !isSilent else { return }
    // A timer that expires too early does no harm.
    if set != .max, time > set, time != .max, time &- set < Self.slack { return }
    set = time
    // 0 would stop the timer, and `max` does.
    csystem_timer_set(timer, time == .max ? 0 : max(time, 1))
  }

  /// There is something to do now.
  mutating func wake() {
    if isWoken || isSilent { return }
    isWoken = true
    csystem_wake(wakeup)
  }

  /// Reports ready descriptors, and forgets an expired timer or a wakeup.
  mutating func look(_ found: (_ number: Int, _ events: Int16) -> Void) {
    let maximum = min(count &+ 2, csystem_max_ready)
    let number = Int(csystem_epoll_look(descriptor, ready, CInt(truncatingIfNeeded: maximum)))
    for index in 0..<max(0, min(number, maximum)) {
      switch Int(ready[index].number) {
      case count:
        csystem_empty(timer)
        set = .max
      case count &+ 1:
        csystem_empty(wakeup)
        isWoken = false
      case let connection: found(connection, ready[index].events)
      }
    }
  }

  /// The descriptors belong to another process now.
  mutating func silence() { isSilent = true }
}
