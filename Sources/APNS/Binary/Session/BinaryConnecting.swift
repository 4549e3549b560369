import CAPNS

/// Opens connections, both the needed and the standby one.
extension BinarySession where Net: ~Copyable {
  /// A firewall may have cut an older standby connection without notice.
  private static var longestSpare: Nanoseconds { 60_000_000_000 }
  /// A standby connection that has not opened by then is abandoned, and another is made.
  private static var longestSpareOpening: Nanoseconds { 2_000_000_000 }

  /// Opens the channel's connection; false when that takes waiting or is not needed.
  @inline(__always)
  mutating func ensureOpen(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    channel.pointee.phase == .open ? true : try openConnection(channel, goal)
  }

  @inline(never)
  private mutating func openConnection(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal
  ) throws(Failure) -> Bool {
    if channel.pointee.phase == .closed {
      guard needsConnection(channel, goal) else { return false }
      try takeSpare(channel)
      if channel.pointee.phase == .open { return true }
    }
    guard
      try reconnects.open(
        &channel.pointee.connection, on: &network, within: options.connectTimeout)
    else { return false }
    connects &+= 1
    begun(channel)
    return true
  }

  /// Moves to the standby connection, unless it does not exist or is too old.
  @inline(never)
  private mutating func takeSpare(_ channel: UnsafeMutablePointer<BinaryChannel>) throws(Failure) {
    guard channel.pointee.spare.phase != .closed else { return }
    let longest =
      channel.pointee.spare.phase == .open ? Self.longestSpare : Self.longestSpareOpening
    if network.now &- channel.pointee.spare.openedAt > longest {
      dropSpare(channel)
      return
    }
    channel.pointee.moveToSpare()
    if channel.pointee.phase == .open {
      begun(channel)
      // It may have ended while it was not read.
      try receive(channel)
    }
  }

  /// The channel has another connection than before, and it is open.
  @inline(never)
  private mutating func begun(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    let now = network.now
    channel.pointee.connection.begun(on: &network)
    channel.pointee.forgetConnection()
    channel.pointee.lastWrite = now
  }

  mutating func close(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    channel.pointee.connection.close(on: &network)
    channel.pointee.forgetConnection()
  }

  @inline(never)
  mutating func dropSpare(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    guard channel.pointee.spare.phase != .closed else { return }
    channel.pointee.spare.close(on: &network)
  }

  /// When the connection will soon be used up, the next one is made while this one works, so that
  /// moving on costs no handshake.
  @inline(__always)
  mutating func keepSpare(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal) {
    if case .leaving = goal { return }
    guard options.keepsSpare else { return }
    switch channel.pointee.spare.phase {
    case .open: return
    case .closed where !endsSoon(channel): return
    case .opening, .closed: makeSpare(channel)
    }
  }

  private func endsSoon(_ channel: UnsafeMutablePointer<BinaryChannel>) -> Bool {
    channel.pointee.expectsEnd || channel.pointee.window.isHalfFull
      || channel.pointee.window.hasDoubt
  }

  @inline(never)
  private mutating func makeSpare(_ channel: UnsafeMutablePointer<BinaryChannel>) {
    let now = network.now
    if channel.pointee.spare.phase == .closed {
      guard now >= channel.pointee.nextSpareLook, now >= reconnects.earliest,
        channel.pointee.window.hasInFlight
      else { return }
      do throws(Failure) {
        try network.open(
          channel.pointee.spare.number, isSpare: true, by: now &+ options.connectTimeout)
      } catch {
        spareFailed(channel, error)
        return
      }
      reconnects.opened(&channel.pointee.spare, at: network.now)
      channel.pointee.spare.phase = .opening
      log?.at(now).connecting(channel.pointee.spare, isSpare: true, on: network)
      channel.pointee.spare.openedAt = now
    } else if network.readiness(channel.pointee.spare.number).isEmpty,
      now < channel.pointee.nextSpareLook,
      now < channel.pointee.spare.opening.until
    {
      return
    }
    channel.pointee.nextSpareLook = now &+ SessionConnection.lookInterval
    do throws(Failure) {
      switch try network.advance(channel.pointee.spare.number) {
      case .open:
        channel.pointee.spare.phase = .open
        log?.at(now).connected(channel.pointee.spare, isSpare: true, on: network)
        channel.pointee.spare.openedAt = now
        connects &+= 1
      case .waits(let readiness, let time):
        channel.pointee.spare.opening = (readiness, time)
      }
    } catch {
      spareFailed(channel, error)
    }
  }

  /// When the standby connection must be made or continued.
  @inline(__always)
  func spareDue(_ channel: UnsafeMutablePointer<BinaryChannel>, _ goal: SessionGoal) -> Nanoseconds
  {
    if case .leaving = goal { return .max }
    guard options.keepsSpare else { return .max }
    switch channel.pointee.spare.phase {
    case .open: return .max
    case .opening: return channel.pointee.spare.opening.until
    case .closed:
      guard endsSoon(channel), channel.pointee.window.hasInFlight else { return .max }
      return max(channel.pointee.nextSpareLook, reconnects.earliest)
    }
  }

  /// The connection in use is not affected; when it ends, its own reason is reported.
  @inline(never)
  private mutating func spareFailed(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ failure: Failure
  ) {
    log?.at(network.now).refused(channel.pointee.spare, isSpare: true, failure)
    channel.pointee.spare.close(on: &network)
    channel.pointee.nextSpareLook = network.now &+ Reconnects.shortLife
  }

  /// The connection is gone, and no packet resolves anything.
  @inline(never)
  mutating func connectionEnded(
    _ channel: UnsafeMutablePointer<BinaryChannel>, _ failure: Failure?
  ) throws(Failure) {
    let counts = logEnd(channel, failure)
    defer { logResent(channel, since: counts) }
    let hasUnproven = channel.pointee.hasUnproven
    close(channel)
    reconnects.ended(failure, otherwise: "the gateway ended the connection without naming one")
    if let failure, failure.refusesProvider {
      let hadSomething = channel.pointee.window.hasInFlight
      channel.pointee.window.connectionRefused()
      if options.usesSentinel, hadSomething, channel.pointee.window.hasDoubt {
        channel.pointee.holds = .unwelcome
      } else {
        channel.pointee.holds = []
      }
      if !channel.pointee.window.hasDoubt { channel.pointee.settled() }
      reconnects.achievedNothing(on: &network)
      throw failure
    }
    if let failure { reconnects.note(failure) }
    let isInDoubt = channel.pointee.window.hasInFlight
    channel.pointee.holds = []
    if isInDoubt { channel.pointee.ambiguousEnds &+= 1 }
    if !options.resendsInDoubt {
      channel.pointee.window.connectionEnded(resending: .none)
    } else if channel.pointee.ambiguousEnds
      < options.fruitlessEndsMax(hasProven: channel.pointee.hasProven)
    {
      channel.pointee.window.connectionEnded(resending: .usual)
    } else {
      channel.pointee.ambiguousEnds = 0
      channel.pointee.hasProven = false
      channel.pointee.window.connectionEnded(resending: .undoubted)
    }
    // Resent notifications keep their age, and are wanted as before.
    if !channel.pointee.window.hasDoubt { channel.pointee.settled() }
    reconnects.lost(
      channel.pointee.connection, leavingDoubt: isInDoubt || hasUnproven, on: &network)
  }
}
