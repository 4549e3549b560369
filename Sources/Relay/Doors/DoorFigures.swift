import Synchronization

/// What a door counts, for those who watch it.
package final class DoorFigures: Sendable {
  /// A share of the connections of which somebody has had enough.
  package enum Limit: String, CaseIterable, Sendable { case app, address, feedback, handshakes }

  package struct Shown: Sendable {
    package var connections = 0
    package var waiting = 0
    /// How many requests were answered, by status.
    package var answers: [Int: Int] = [:]
    /// Connections that were turned away, because there were too many.
    package var turnedAway = 0
    /// Notifications that are in the queue by this door, where it counts no requests.
    package var taken = 0
    /// Those that came behind a rejected one.
    package var discarded = 0
    /// Clients that were not let in.
    package var refused = 0
    /// Silent pushes that became background pushes.
    package var silent = 0
    /// Connections that are nobody's yet.
    package var handshakes = 0
    /// Connections that ended because of a limit.
    package var limited: [Limit: Int] = [:]

    package init() {}
  }

  private let state = Mutex(Shown())

  package var shown: Shown { state.withLock { $0 } }

  /// False: there are so many already.
  package func enter(most: Int) -> Bool {
    state.withLock { state in
      guard state.connections < most else {
        state.turnedAway += 1
        return false
      }
      state.connections += 1
      return true
    }
  }

  /// One that had entered.
  package func turnAway() {
    state.withLock { state in
      state.connections -= 1
      state.turnedAway += 1
    }
  }

  /// One whose share is used up.
  package func turnAway(by limit: Limit) {
    state.withLock { state in
      state.limited[limit, default: 0] += 1
      // Where a handshake ends, another client is let in.
      if limit != .handshakes { state.turnedAway += 1 }
    }
  }

  package func leave() { state.withLock { $0.connections -= 1 } }
  package func take(_ count: Int) { state.withLock { $0.taken += count } }
  package func silence(_ count: Int) { state.withLock { $0.silent += count } }
  package func discard() { state.withLock { $0.discarded += 1 } }
  package func refuse() { state.withLock { $0.refused += 1 } }
  /// By packet, which no request waits for.
  package func answer(_ status: UInt8) {
    state.withLock { $0.answers[Int(status), default: 0] += 1 }
  }

  package func began() { state.withLock { $0.waiting += 1 } }

  package func answered(_ status: Int) {
    state.withLock { state in
      state.waiting -= 1
      state.answers[status, default: 0] += 1
    }
  }
}
