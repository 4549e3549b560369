import CAPNS

/// Opening lines: the one that is needed, and the spare one that will be.
extension Session where Net: ~Copyable {
  /// A spare line older than that may have been cut by a firewall without a word.
  private static var longestSpare: Int64 { 60_000_000_000 }
  /// One that has not come about by then may never do; another is made sooner.
  private static var longestSpareOpening: Int64 { 2_000_000_000 }
  /// A line that ends sooner than that without having been of use is no good sign.
  private static var shortLife: Int64 { 1_000_000_000 }

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
    }
    if lane.pointee.use == .closed, try !begin(lane) { return false }
    if lane.pointee.use == .opening { return try advanceOpening(lane) }
    return lane.pointee.use == .open
  }

  /// Moves to the spare line, unless it is none or has gone stale.
  @inline(never)
  private mutating func takeSpare(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) {
    guard lane.pointee.spareUse != .closed else { return }
    let longest = lane.pointee.spareUse == .open ? Self.longestSpare : Self.longestSpareOpening
    if network.now &- lane.pointee.spareSince > longest {
      dropSpare(lane)
      return
    }
    lane.pointee.moveToSpare()
    if lane.pointee.use == .open {
      begun(lane)
      lane.pointee.openedAt = lane.pointee.spareSince
      // It may have been ended while nobody listened.
      try hear(lane)
    }
  }

  /// Begins a new connection; false where that is too early.
  @inline(never)
  private mutating func begin(_ lane: UnsafeMutablePointer<Lane>) throws(Failure) -> Bool {
    let now = network.now
    if now < reconnects.earliest {
      wake = min(wake, reconnects.earliest)
      return false
    }
    do throws(Failure) {
      try network.open(lane.pointee.line, isSpare: false, by: now &+ options.connectTimeout)
    } catch {
      achievedNothing()
      throw error
    }
    reconnects.opened(at: network.now)
    lane.pointee.use = .opening
    return true
  }

  private mutating func advanceOpening(
    _ lane: UnsafeMutablePointer<Lane>
  ) throws(Failure) -> Bool {
    do throws(Failure) {
      switch try network.advance(lane.pointee.line) {
      case .open:
        lane.pointee.use = .open
        connects &+= 1
        begun(lane)
        return true
      case .waits(let readiness, let time):
        network.watch(lane.pointee.line, for: readiness)
        wake = min(wake, time)
        return false
      }
    } catch {
      close(lane)
      achievedNothing()
      throw error
    }
  }

  /// The lane's line is another one than before, and open.
  @inline(never)
  private mutating func begun(_ lane: UnsafeMutablePointer<Lane>) {
    let now = network.now
    // What it was ready for while it opened is done with.
    _ = network.readiness(lane.pointee.line)
    lane.pointee.packet = ErrorPacketReader()
    lane.pointee.openedAt = now
    lane.pointee.lastLook = now
    lane.pointee.lastWrite = now
    lane.pointee.stalledSince = nil
    lane.pointee.firstWrite = nil
    lane.pointee.written = 0
  }

  @inline(never)
  mutating func close(_ lane: UnsafeMutablePointer<Lane>) {
    network.drop(lane.pointee.line)
    lane.pointee.use = .closed
    lane.pointee.stalledSince = nil
  }

  @inline(never)
  mutating func dropSpare(_ lane: UnsafeMutablePointer<Lane>) {
    guard lane.pointee.spareUse != .closed else { return }
    network.drop(lane.pointee.spare)
    lane.pointee.spareUse = .closed
  }

  @inline(never)
  mutating func achievedNothing() {
    let random = network.random()
    reconnects.achievedNothing(at: network.now, random: random)
  }

  /// Where the line will soon be needed no more, the next one is made ready while
  /// this one works, so that moving on costs no handshake.
  @inline(__always)
  mutating func keepSpare(_ lane: UnsafeMutablePointer<Lane>, _ goal: Goal) {
    if case .lastWriting = goal { return }
    guard options.keepsSpare else { return }
    switch lane.pointee.spareUse {
    case .open: return
    case .closed where !lane.pointee.expectsRejection && !lane.pointee.window.isHalfFull: return
    case .opening, .closed: makeSpare(lane)
    }
  }

  @inline(never)
  private mutating func makeSpare(_ lane: UnsafeMutablePointer<Lane>) {
    let now = network.now
    if lane.pointee.spareUse == .closed {
      guard now >= lane.pointee.nextSpareLook, now >= reconnects.earliest,
        lane.pointee.window.hasInFlight
      else { return }
      do throws(Failure) {
        try network.open(lane.pointee.spare, isSpare: true, by: now &+ options.connectTimeout)
      } catch {
        spareFailed(lane)
        return
      }
      reconnects.opened(at: network.now)
      lane.pointee.spareUse = .opening
      lane.pointee.spareSince = now
    } else if network.readiness(lane.pointee.spare).isEmpty, now < lane.pointee.nextSpareLook,
      now < lane.pointee.spareUntil
    {
      awaitSpare(lane)
      return
    }
    lane.pointee.nextSpareLook = now &+ Self.lookInterval
    do throws(Failure) {
      switch try network.advance(lane.pointee.spare) {
      case .open:
        lane.pointee.spareUse = .open
        lane.pointee.spareSince = now
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
    network.watch(lane.pointee.spare, for: lane.pointee.spareWants)
    wake = min(wake, lane.pointee.spareUntil)
  }

  /// The line that works is none the worse for it; when it ends, the reason will be heard.
  @inline(never)
  private mutating func spareFailed(_ lane: UnsafeMutablePointer<Lane>) {
    network.drop(lane.pointee.spare)
    lane.pointee.spareUse = .closed
    lane.pointee.nextSpareLook = network.now &+ Self.shortLife
  }

  /// The connection is gone without a packet that settles anything.
  @inline(never)
  mutating func connectionEnded(
    _ lane: UnsafeMutablePointer<Lane>, _ failure: Failure?
  ) throws(Failure) {
    close(lane)
    if let failure, failure.refusesProvider {
      lane.pointee.window.connectionRefused()
      achievedNothing()
      throw failure
    }
    if lane.pointee.window.hasInFlight {
      lane.pointee.ambiguousEnds &+= 1
      let resends =
        options.resendsAmbiguous && lane.pointee.ambiguousEnds < options.ambiguousEndsMax
      lane.pointee.window.connectionEnded(resend: resends)
      if !resends { lane.pointee.ambiguousEnds = 0 }
      achievedNothing()
    } else {
      lane.pointee.window.connectionEnded(resend: true)
      if network.now &- lane.pointee.openedAt < Self.shortLife { achievedNothing() }
    }
  }
}
