import CAPNS

/// Opening and ending the connections of a session over HTTP/2.
extension HTTP2Session where Net: ~Copyable, Tokens: ~Copyable {
  /// Sees to it that the lane's line is open; false where that takes waiting, or is not
  /// needed.
  @inline(__always)
  mutating func bringOpen(
    _ lane: UnsafeMutablePointer<PushLane>, _ goal: PushGoal
  ) throws(Failure) -> Bool {
    lane.pointee.use == .open ? true : try reopen(lane, goal)
  }

  @inline(never)
  private mutating func reopen(
    _ lane: UnsafeMutablePointer<PushLane>, _ goal: PushGoal
  ) throws(Failure) -> Bool {
    if lane.pointee.use == .closed, !isNeeded(lane, goal) { return false }
    if let time = try reconnects.open(
      &lane.pointee.line, on: &network, within: options.connectTimeout)
    {
      wake = min(wake, time)
      return false
    }
    guard lane.pointee.http.begin() else {
      close(lane)
      reconnects.achievedNothing(on: &network)
      throw .outOfMemory
    }
    connects &+= 1
    begun(lane)
    return true
  }

  private mutating func begun(_ lane: UnsafeMutablePointer<PushLane>) {
    let now = network.now
    lane.pointee.line.begun(on: &network)
    lane.pointee.lastHeard = now
    lane.pointee.lastRead = now
    lane.pointee.askedAt = nil
    lane.pointee.starvedSince = nil
    lane.pointee.tookAgain = nil
    lane.pointee.isUnread = false
    lane.pointee.readOn = 0
    lane.pointee.budget = FloodBudget(at: now)
  }

  mutating func close(_ lane: UnsafeMutablePointer<PushLane>) {
    lane.pointee.line.close(on: &network)
    lane.pointee.http.pointee.end()
  }

  /// The connection is gone; what it had in flight is judged by what it has heard.
  @inline(never)
  mutating func connectionEnded(
    _ lane: UnsafeMutablePointer<PushLane>, _ failure: Failure?
  ) throws(Failure) {
    let owed = lane.pointee.http.pointee.inFlight
    let refuses = failure?.refusesProvider ?? false
    close(lane)
    if refuses {
      // It looked at nothing.
      outbox.pointee.forEachInFlight(on: UInt16(truncatingIfNeeded: lane.pointee.number)) {
        $0.entries[$1].isRefused = true
      }
    }
    outbox.pointee.connectionEnded(UInt16(truncatingIfNeeded: lane.pointee.number))
    reconnects.lost(lane.pointee.line, leavingDoubt: owed > 0, on: &network)
    judgeAnswered()
    if let failure {
      if refuses { throw failure }
      reconnects.note(failure)
    }
  }
}
