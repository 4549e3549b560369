import NIOConcurrencyHelpers

/// What became of the notifications of one connection since it was last settled.
struct Tally {
  var accepted = 0
  var discarded = 0
  var rejected: [UInt8: Int] = [:]

  var isEmpty: Bool { accepted == 0 && discarded == 0 && rejected.isEmpty }
}

/// What happened so far, over all connections.
package struct Totals: Sendable, Equatable {
  /// Those that got past the handshake.
  package var connections = 0
  package var refused = 0
  package var feedbackConnections = 0
  package var feedbackTuples = 0
  package var accepted = 0
  /// By status.
  package var rejected: [UInt8: Int] = [:]
  /// Came after a rejection, on the same connection.
  package var discarded = 0

  package init() {}

  package var received: Int { accepted + discarded + rejected.values.reduce(0, +) }
}

/// Gathers what the connections report.
package final class Ledger: Sendable {
  private struct State {
    var totals = Totals()
    var opened = 0
  }

  private let state = NIOLockedValueBox(State())

  package init() {}

  package var totals: Totals { state.withLockedValue { $0.totals } }

  /// The number of a connection, counted from 1.
  func open() -> Int {
    state.withLockedValue { state in
      state.opened += 1
      return state.opened
    }
  }

  func connect() { state.withLockedValue { $0.totals.connections += 1 } }

  func refuse() { state.withLockedValue { $0.totals.refused += 1 } }

  func answerFeedback(_ tuples: Int) {
    state.withLockedValue { state in
      state.totals.feedbackConnections += 1
      state.totals.feedbackTuples += tuples
    }
  }

  func add(_ tally: inout Tally) {
    if tally.isEmpty { return }
    state.withLockedValue { state in
      state.totals.accepted += tally.accepted
      state.totals.discarded += tally.discarded
      for (status, count) in tally.rejected { state.totals.rejected[status, default: 0] += count }
    }
    tally = Tally()
  }
}
