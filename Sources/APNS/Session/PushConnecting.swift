#if APNS_HTTP2
  import CAPNS

  /// Opening and ending the connections of a session over HTTP/2.
  extension PushSession where Net: ~Copyable {
    /// A connection that ends sooner than that without an answer is no good sign.
    private static var shortLife: Int64 { 1_000_000_000 }

    mutating func bringOpen(
      _ lane: UnsafeMutablePointer<PushLane>, _ goal: PushGoal
    ) throws(Failure) -> Bool {
      switch lane.pointee.use {
      case .open: return true
      case .opening: return try advanceOpening(lane)
      case .closed:
        guard isNeeded(lane, goal), try begin(lane) else { return false }
        return try advanceOpening(lane)
      }
    }

    /// Begins a new connection; false where that is too early.
    private mutating func begin(_ lane: UnsafeMutablePointer<PushLane>) throws(Failure) -> Bool {
      let now = network.now
      if now < reconnects.earliest {
        wake = min(wake, reconnects.earliest)
        return false
      }
      do throws(Failure) {
        try network.open(lane.pointee.number, isSpare: false, by: now &+ options.connectTimeout)
      } catch {
        achievedNothing()
        throw error
      }
      reconnects.opened(at: network.now)
      lane.pointee.use = .opening
      return true
    }

    private mutating func advanceOpening(
      _ lane: UnsafeMutablePointer<PushLane>
    ) throws(Failure) -> Bool {
      do throws(Failure) {
        switch try network.advance(lane.pointee.number) {
        case .open:
          guard lane.pointee.http.begin() else { throw .outOfMemory }
          connects &+= 1
          begun(lane)
          return true
        case .waits(let readiness, let time):
          network.watch(lane.pointee.number, for: readiness)
          wake = min(wake, time)
          return false
        }
      } catch {
        close(lane)
        achievedNothing()
        throw error
      }
    }

    private mutating func begun(_ lane: UnsafeMutablePointer<PushLane>) {
      let now = network.now
      _ = network.readiness(lane.pointee.number)
      lane.pointee.use = .open
      lane.pointee.openedAt = now
      lane.pointee.lastLook = now
      lane.pointee.lastHeard = now
      lane.pointee.lastRead = now
      lane.pointee.askedAt = nil
      lane.pointee.stalledSince = nil
      lane.pointee.mustRead = false
      lane.pointee.isUnread = false
    }

    mutating func close(_ lane: UnsafeMutablePointer<PushLane>) {
      network.drop(lane.pointee.number)
      lane.pointee.http.pointee.end()
      lane.pointee.use = .closed
      lane.pointee.stalledSince = nil
    }

    mutating func achievedNothing() {
      let random = network.random()
      reconnects.achievedNothing(at: network.now, random: random)
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
      if owed > 0 {
        if !refuses { ambiguousEnds &+= 1 }
        achievedNothing()
      } else if network.now &- lane.pointee.openedAt < Self.shortLife {
        achievedNothing()
      }
      judgeAnswered()
      if let failure, refuses { throw failure }
    }
  }
#endif
