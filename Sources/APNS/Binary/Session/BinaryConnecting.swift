import CAPNS

/// Opens connections, both the needed and the standby one.
extension BinarySession where Net: ~Copyable {
  /// A firewall may have cut an older standby connection without notice.
  private static var maxStandbyAge: Nanoseconds { 60_000_000_000 }
  /// A standby connection that has not opened by then is abandoned, and another is made.
  private static var maxStandbyOpening: Nanoseconds { 2_000_000_000 }

  /// Opens the connection; false when that takes waiting or is not needed.
  @inline(__always)
  mutating func ensureOpen(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    connection.pointee.phase == .open ? true : try openConnection(connection, goal)
  }

  @inline(never)
  private mutating func openConnection(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    if connection.pointee.phase == .closed {
      guard needsConnection(connection, goal) else { return false }
      try takeStandby(connection)
      if connection.pointee.phase == .open { return true }
    }
    guard
      try reconnects.open(
        &connection.pointee.link, on: &network, within: options.connectTimeout)
    else { return false }
    connects &+= 1
    begun(connection)
    return true
  }

  /// Moves to the standby connection, unless it does not exist or is too old.
  @inline(never)
  private mutating func takeStandby(_ connection: UnsafeMutablePointer<BinaryConnection>)
    throws(Failure)
  {
    guard connection.pointee.standby.phase != .closed else { return }
    let maxAge =
      connection.pointee.standby.phase == .open ? Self.maxStandbyAge : Self.maxStandbyOpening
    if network.now &- connection.pointee.standby.openedAt > maxAge {
      dropStandby(connection)
      return
    }
    connection.pointee.moveToStandby()
    if connection.pointee.phase == .open {
      begun(connection)
      // It may have ended while it was not read.
      try receive(connection)
    }
  }

  /// A new connection is open.
  @inline(never)
  private mutating func begun(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    let now = network.now
    connection.pointee.link.begun(on: &network)
    connection.pointee.traffic.lastWrite = now
  }

  mutating func close(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    connection.pointee.link.close(on: &network)
    connection.pointee.traffic = Traffic()
  }

  @inline(never)
  mutating func dropStandby(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    guard connection.pointee.standby.phase != .closed else { return }
    connection.pointee.standby.close(on: &network)
  }

  /// When the connection will soon be used up, the next one is made while this one works, so that
  /// moving on costs no handshake.
  @inline(__always)
  mutating func keepStandby(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal
  ) {
    if case .closing = goal { return }
    guard options.keepsStandby else { return }
    switch connection.pointee.standby.phase {
    case .open: return
    case .closed where !endsSoon(connection): return
    case .opening, .closed: makeStandby(connection)
    }
  }

  private func endsSoon(_ connection: UnsafeMutablePointer<BinaryConnection>) -> Bool {
    connection.pointee.expectsEnd || connection.pointee.window.isHalfFull
      || connection.pointee.window.hasDoubt
  }

  @inline(never)
  private mutating func makeStandby(_ connection: UnsafeMutablePointer<BinaryConnection>) {
    let now = network.now
    if connection.pointee.standby.phase == .closed {
      guard now >= connection.pointee.nextStandbyCheck, now >= reconnects.earliest,
        connection.pointee.window.hasInFlight
      else { return }
      do throws(Failure) {
        try network.open(
          connection.pointee.standby.number, isStandby: true, by: now &+ options.connectTimeout)
      } catch {
        standbyFailed(connection, error)
        return
      }
      reconnects.opened(&connection.pointee.standby, at: network.now)
      connection.pointee.standby.phase = .opening
      log?.at(now).connecting(connection.pointee.standby, isStandby: true, on: network)
      connection.pointee.standby.openedAt = now
    } else if network.readiness(connection.pointee.standby.number).isEmpty,
      now < connection.pointee.nextStandbyCheck,
      now < connection.pointee.standby.opening.until
    {
      return
    }
    connection.pointee.nextStandbyCheck = now &+ SessionLink.lookInterval
    do throws(Failure) {
      switch try network.advance(connection.pointee.standby.number) {
      case .open:
        connection.pointee.standby.phase = .open
        log?.at(now).connected(connection.pointee.standby, isStandby: true, on: network)
        connection.pointee.standby.openedAt = now
        connects &+= 1
      case .waits(let readiness, let time):
        connection.pointee.standby.opening = (readiness, time)
      }
    } catch {
      standbyFailed(connection, error)
    }
  }

  /// When the standby connection must be made or continued.
  @inline(__always)
  func standbyDue(_ connection: UnsafeMutablePointer<BinaryConnection>, _ goal: SessionGoal)
    -> Nanoseconds
  {
    if case .closing = goal { return .max }
    guard options.keepsStandby else { return .max }
    switch connection.pointee.standby.phase {
    case .open: return .max
    case .opening: return connection.pointee.standby.opening.until
    case .closed:
      guard endsSoon(connection), connection.pointee.window.hasInFlight else { return .max }
      return max(connection.pointee.nextStandbyCheck, reconnects.earliest)
    }
  }

  /// The connection in use is not affected; when it ends, its own reason is reported.
  @inline(never)
  private mutating func standbyFailed(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ failure: Failure
  ) {
    log?.at(network.now).refused(connection.pointee.standby, isStandby: true, failure)
    connection.pointee.standby.close(on: &network)
    connection.pointee.nextStandbyCheck = network.now &+ Reconnects.shortLife
  }

  /// The connection is gone, and no packet resolves anything.
  @inline(never)
  mutating func connectionEnded(
    _ connection: UnsafeMutablePointer<BinaryConnection>, _ failure: Failure?
  ) throws(Failure) {
    let counts = logEnd(connection, failure)
    defer { logResent(connection, since: counts) }
    let hasUnproven = connection.pointee.traffic.hasUnproven
    close(connection)
    reconnects.ended(failure, otherwise: "the gateway ended the connection without naming one")
    if let failure, failure.refusesProvider {
      let hadSomething = connection.pointee.window.hasInFlight
      connection.pointee.window.connectionRefused()
      connection.pointee.isUnwelcome =
        options.usesSentinel && hadSomething && connection.pointee.window.hasDoubt
      if !connection.pointee.window.hasDoubt { connection.pointee.settled() }
      reconnects.achievedNothing(on: &network)
      throw failure
    }
    if let failure { reconnects.note(failure) }
    let isInDoubt = connection.pointee.window.hasInFlight
    connection.pointee.isUnwelcome = false
    if isInDoubt { connection.pointee.ambiguousEnds &+= 1 }
    if !options.resendsInDoubt {
      connection.pointee.window.connectionEnded(resending: .none)
    } else if connection.pointee.ambiguousEnds
      < options.unproductiveEndsMax(hasProven: connection.pointee.hasProven)
    {
      connection.pointee.window.connectionEnded(resending: .usual)
    } else {
      connection.pointee.ambiguousEnds = 0
      connection.pointee.hasProven = false
      connection.pointee.window.connectionEnded(resending: .undoubted)
    }
    // Resent notifications keep their age, and are wanted as before.
    if !connection.pointee.window.hasDoubt { connection.pointee.settled() }
    reconnects.lost(
      connection.pointee.link, inDoubt: isInDoubt || hasUnproven, on: &network)
  }
}
