/// How time passes while the session waits, and what it finds afterwards.
extension Wired {
  func watch(_ line: Int, for readiness: Readiness) { lines[line].watched |= readiness.rawValue }

  func readiness(_ line: Int) -> Readiness {
    let found = lines[line].found
    lines[line].found = 0
    return Readiness(rawValue: found)
  }

  func wait(until time: Int64) {
    if !call.mayWait { violate("\(call.name) waits") }
    if call.isFullOfOutcomes { violate("\(call.name) waits, and outcomes stand in its way") }
    if time > call.latest {
      violate("\(call.name) would wait \((time - call.latest) / 1000) us beyond its deadline")
    }
    checkWaiting(until: time)
    checkDue(until: time)
    approachDeadline(by: time)
    let started = clock
    if traces { sayWatched(time) }
    passTime(until: time)
    for connection in lines {
      let watched = connection.watched
      connection.watched = 0
      connection.found = watched == 0 ? 0 : watched & ready(connection)
    }
    noteWait(since: started)
  }

  /// Time passes until a watched line is ready, or until that time, or for less.
  private func passTime(until time: Int64) {
    // After an early wake the peer has not done its later deeds yet.
    let isEarly = time > clock && dice.happens(faults.earlyWakes)
    var wake = max(nextWake(isEarly ? clock + dice.time(upTo: time - clock - 1) : time), clock)
    if wake == time {
      // poll() counts in whole ms. A wait that ended late does not count against the next one.
      let late = Int64(dice.below(1_000_000))
      wake += late
      call.spent += late
    }
    clock = wake
    call.woken = clock
  }

  private func noteWait(since started: Int64) {
    call.vainWaits = clock - started < shortestWait ? call.vainWaits + 1 : 0
    if call.vainWaits > 100 { violate("\(call.name) waits again and again for nothing") }
  }

  // MARK: The program's event loop

  /// The session's descriptor watches what the session does.
  func arm(until time: Int64) {
    if !usesLoop { violate("a session without an event loop arms a descriptor") }
    if time <= 0 { isHurried = true } else { armedUntil = time }
    for connection in lines { (connection.armed, connection.watched) = (connection.watched, 0) }
  }

  func look() {
    if !usesLoop { violate("a session without an event loop reads a descriptor") }
    isHurried = false
    for connection in lines {
      connection.found = connection.armed == 0 ? 0 : connection.armed & ready(connection)
    }
  }

  /// The event loop waits until the session's descriptor is readable, or until that time. True if
  /// it is readable.
  func waitForDescriptor(until time: Int64) -> Bool {
    if due > clock { checkWaiting(until: due) }
    checkDue(until: due)
    approachDeadline(by: min(due, time))
    let started = clock
    for connection in lines { connection.watched = connection.armed }
    if traces { sayWatched(min(due, time)) }
    passTime(until: max(clock, min(due, time)))
    for connection in lines { connection.watched = 0 }
    noteWait(since: started)
    return hasSomethingToDo
  }

  /// The session's descriptor is readable.
  var hasSomethingToDo: Bool {
    clock >= due || lines.contains { $0.armed & ready($0) != 0 }
  }

  /// A line is ready for something, watched for or not.
  var isAnyReady: Bool {
    lines.contains {
      ready($0) != 0
        && ($0.phase == .opening || $0.readableAt(clock) <= clock || $0.refusedSince > 0)
    }
  }

  var onlyLine: Int? {
    let open = lines.filter { $0.phase != .closed }
    return open.count == 1 ? open.first?.serial : nil
  }

  /// Bytes that had come count before the session abandons anything for lack of them.
  func checkHeard(_ line: Int?) {
    guard let line, line == onlyLine, news == call.news, unknownSoFar() > call.unknown else {
      return
    }
    // An unused standby connection has nothing to report.
    for connection in lines
    where connection.phase == .open && connection.tookAt > 0
      && connection.hasUnread(since: call.heardFrom)
    {
      violate("\(call.name) gives up what waited, and nobody read what had come on \(connection)")
    }
  }

  private func sayWatched(_ time: Int64) {
    let watched = lines.filter { $0.watched != 0 }.map {
      let readable = $0.watched & Readiness.reading.rawValue != 0
      let writable = $0.watched & Readiness.writing.rawValue != 0
      return " \($0.line)\(readable ? " to read" : "")\(writable ? " to write" : "")"
    }
    say("waits for \((time - clock) / 1000) us or\(watched.joined(separator: ","))")
  }

  /// When the first line is ready for what it is watched for, but at most the given time.
  private func nextWake(_ time: Int64) -> Int64 {
    while true {
      var wake = time
      var next: Wire?
      for connection in lines where connection.phase != .closed {
        if connection.watched != 0 { wake = min(wake, readyAt(connection)) }
        if connection.nextDeed < next?.nextDeed ?? .max { next = connection }
      }
      // The peer may do something before that which makes a line ready sooner.
      guard let next, next.nextDeed <= wake else { return wake }
      act(next.line, until: next.nextDeed)
    }
  }

  private func readyAt(_ connection: Wire) -> Int64 {
    switch connection.phase {
    case .closed: return .max
    case .opening: return connection.opensAt
    case .open:
      var time = Int64.max
      if connection.watched & Readiness.reading.rawValue != 0 {
        time = connection.readableAt(clock)
      }
      if connection.watched & Readiness.writing.rawValue != 0 {
        time = min(time, connection.writableAt)
      }
      return time
    }
  }

  private func ready(_ connection: Wire) -> Int16 {
    switch connection.phase {
    case .closed: return 0
    case .opening: return connection.opensAt <= clock ? ~0 : 0
    case .open:
      return (connection.readableAt(clock) <= clock ? Readiness.reading.rawValue : 0)
        | (connection.writableAt <= clock ? Readiness.writing.rawValue : 0)
    }
  }
}
