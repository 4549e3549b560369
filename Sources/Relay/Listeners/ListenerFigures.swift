import Synchronization

/// The counters of a listener, for metrics.
package final class ListenerFigures: Sendable {
  /// A connection quota that is used up.
  package enum Limit: String, CaseIterable, Sendable { case app, address, feedback, handshakes }

  package struct Shown: Sendable {
    package var connections = 0
    package var waiting = 0
    /// The number of responses by status.
    package var responses: [Int: Int] = [:]
    /// Connections refused because there were too many.
    package var refusedConnections = 0
    /// Notifications that a binary listener queued. The HTTP listener counts requests instead.
    package var queued = 0
    /// Frames after a rejected one.
    package var discarded = 0
    /// Clients that failed the handshake or were not identified.
    package var refused = 0
    /// Silent pushes that became background pushes.
    package var silent = 0
    /// Connections without a known client.
    package var handshakes = 0
    /// Connections closed because of a limit.
    package var limited: [Limit: Int] = [:]
  }

  private let state = Mutex(Shown())

  package var shown: Shown { state.withLock { $0 } }

  /// False if there are `most` already.
  package func enter(most: Int) -> Bool {
    state.withLock { state in
      guard state.connections < most else {
        state.refusedConnections += 1
        return false
      }
      state.connections += 1
      return true
    }
  }

  /// Refuses a connection that `enter` has counted.
  package func refuseConnection() {
    state.withLock { state in
      state.connections -= 1
      state.refusedConnections += 1
    }
  }

  /// Refuses a connection because of a quota.
  package func refuseConnection(by limit: Limit) {
    state.withLock { state in
      state.limited[limit, default: 0] += 1
      // A handshake is closed in favour of another client, which is accepted.
      if limit != .handshakes { state.refusedConnections += 1 }
    }
  }

  func count(_ change: (inout Shown) -> Void) { state.withLock { change(&$0) } }
  func refuse() { count { $0.refused += 1 } }
  func began() { count { $0.waiting += 1 } }

  package func responded(_ status: Int) {
    state.withLock { state in
      state.waiting -= 1
      state.responses[status, default: 0] += 1
    }
  }
}
