import CAPNS

/// Opening lines: the one that is needed, and the spare one that will be.
extension BinarySession where Net: ~Copyable {
  /// A spare line older than that may have been cut by a firewall without a word.
  private static var longestSpare: Int64 { 60_000_000_000 }
  /// One that has not come about by then may never do; another is made sooner.
  private static var longestSpareOpening: Int64 { 2_000_000_000 }

  /// Sees to it that the lane's line is open; false where that takes waiting, or is
  /// not needed.
  @inline(__always)
  mutating func bringOpen(
    _ lane: UnsafeMutablePointer<Lane>, _ goal: Goal
  ) throws(Failure) -> Bool {
    lane.pointee.use == .open ? true : try reopen(lane, goal)
  }

  @inline(never)
  private mutating func reopen(
    _ lane: UnsafeMutablePointer<Lane>, _ goal: Goal
  ) throws(Failure) -> Bool {
    if lane.pointee.use == .closed {
      guard needsConnection(lane, goal) else { return false }
      try takeSpare(lane)
      if lane.pointee.use == .open { return true }
    }
    if let time = try reconnects.open(
      &lane.pointee.line, on: &network, within: options.connectTimeout)
    {
      wake = min(wake, time)
      return false
    }
    connects &+= 1
    begun(lane)
    return true
  }

  /// Moves to the spare line, unless it is none or has gone stale.
  @inline(never)
  private mutating func takeSpare(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    guard lane.pointee.spare.use != .closed else { return }
    let longest = lane.pointee.spare.use == .open ? Self.longestSpare : Self.longestSpareOpening
    if network.now &- lane.pointee.spare.openedAt > longest {
      dropSpare(lane)
      return
    }
    lane.pointee.moveToSpare()
    if lane.pointee.use == .open {
      begun(lane)
      // It may have been ended while nobody listened.
      try hear(lane)
    }
  }

  /// The lane's line is another one than before, and open.
  @inline(never)
  private mutating func begun(_ lane: UnsafeMutablePointer<Lane>) {
    let now = network.now
    lane.pointee.line.begun(on: &network)
    lane.pointee.forgetConnection()
    lane.pointee.lastWrite = now
  }

  mutating func close(_ lane: UnsafeMutablePointer<Lane>) {
    lane.pointee.line.close(on: &network)
    lane.pointee.forgetConnection()
  }

  @inline(never)
  mutating func dropSpare(_ lane: UnsafeMutablePointer<Lane>) {
    guard lane.pointee.spare.use != .closed else { return }
    lane.pointee.spare.close(on: &network)
  }

  /// Where the line will soon be needed no more, the next one is made ready while
  /// this one works, so that moving on costs no handshake.
  @inline(__always)
  mutating func keepSpare(_ lane: UnsafeMutablePointer<Lane>, _ goal: Goal) {
    if case .lastWriting = goal { return }
    guard options.keepsSpare else { return }
    switch lane.pointee.spare.use {
    case .open: return
    case .closed where !endsSoon(lane): return
    case .opening, .closed: makeSpare(lane)
    }
  }

  private func endsSoon(_ lane: UnsafeMutablePointer<Lane>) -> Bool {
    lane.pointee.expectsRejection || lane.pointee.window.isHalfFull
      || lane.pointee.window.hasDoubt
  }

  @inline(never)
  private mutating func makeSpare(_ lane: UnsafeMutablePointer<Lane>) {
    let now = network.now
    if lane.pointee.spare.use == .closed {
      guard now >= lane.pointee.nextSpareLook, now >= reconnects.earliest,
        lane.pointee.window.hasInFlight
      else { return }
      do throws(Failure) {
        try network.open(
          lane.pointee.spare.number, isSpare: true, by: now &+ options.connectTimeout)
      } catch {
        spareFailed(lane)
        return
      }
      reconnects.opened(at: network.now)
      lane.pointee.spare.use = .opening
      lane.pointee.spare.openedAt = now
    } else if network.readiness(lane.pointee.spare.number).isEmpty,
      now < lane.pointee.nextSpareLook,
      now < lane.pointee.spareUntil
    {
      awaitSpare(lane)
      return
    }
    lane.pointee.nextSpareLook = now &+ Line.lookInterval
    do throws(Failure) {
      switch try network.advance(lane.pointee.spare.number) {
      case .open:
        lane.pointee.spare.use = .open
        lane.pointee.spare.openedAt = now
        connects &+= 1
      case .waits(let readiness, let time):
        lane.pointee.spareWants = readiness
        lane.pointee.spareUntil = time
        awaitSpare(lane)
      }
    } catch {
      spareFailed(lane)
    }
  }

  private mutating func awaitSpare(_ lane: UnsafeMutablePointer<Lane>) {
    network.watch(lane.pointee.spare.number, for: lane.pointee.spareWants)
    wake = min(wake, lane.pointee.spareUntil)
  }

  /// The line that works is none the worse for it; when it ends, the reason will be heard.
  @inline(never)
  private mutating func spareFailed(_ lane: UnsafeMutablePointer<Lane>) {
    lane.pointee.spare.close(on: &network)
    lane.pointee.nextSpareLook = network.now &+ Reconnects.shortLife
  }

  /// The connection is gone without a packet that settles anything.
  @inline(never)
  mutating func connectionEnded(
    _ lane: UnsafeMutablePointer<Lane>, _ failure: Failure?
  ) throws(Failure) {
    close(lane)
    if let failure, failure.refusesProvider {
      let hadSomething = lane.pointee.window.hasInFlight
      lane.pointee.window.connectionRefused()
      lane.pointee.isUnwelcome =
        options.usesSentinel && hadSomething && lane.pointee.window.hasDoubt
      if !lane.pointee.window.hasDoubt { lane.pointee.settled() }
      reconnects.achievedNothing(on: &network)
      throw failure
    }
    if let failure { reconnects.note(failure) }
    let isInDoubt = lane.pointee.window.hasInFlight
    lane.pointee.isUnwelcome = false
    if isInDoubt { lane.pointee.ambiguousEnds &+= 1 }
    if !options.resendsAmbiguous {
      lane.pointee.window.connectionEnded(resending: .none)
    } else if lane.pointee.ambiguousEnds
      < options.fruitlessEndsMax(hasProven: lane.pointee.hasProven)
    {
      lane.pointee.window.connectionEnded(resending: .usual)
    } else {
      lane.pointee.ambiguousEnds = 0
      lane.pointee.hasProven = false
      lane.pointee.window.connectionEnded(resending: .undoubted)
    }
    // What is sent again is as old as it was, and wanted as much.
    if !lane.pointee.window.hasDoubt { lane.pointee.settled() }
    reconnects.lost(lane.pointee.line, leavingDoubt: isInDoubt, on: &network)
  }
}
