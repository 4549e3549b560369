import BinaryServer
import NIOConcurrencyHelpers

/// The counts of one connection that the ledger does not have yet.
struct ConnectionTally {
  var bytes = 0
  var accepted = 0
  var duplicates = 0
  var discarded = 0
  var ignored = 0
  var shutdowns = 0
  var broadcasts = 0
  var deliveries = 0
  var rejected: [UInt8: Int] = [:]
  /// Over HTTP/2, by reason.
  var reasons: [String: Int] = [:]
}

/// The totals so far, over all connections.
package struct Totals: Sendable, Equatable {
  /// Connections whose handshake succeeded.
  package var connections = 0
  /// The highest number of connections open at the same time.
  package var connectionsMax = 0
  package var refused = 0
  package var feedbackConnections = 0
  package var feedbackTuples = 0
  package var accepted = 0
  /// By status.
  package var rejected: [UInt8: Int] = [:]
  /// Over HTTP/2, by reason.
  package var reasons: [String: Int] = [:]
  /// Arrived after a rejection, a shutdown or a cut on the same connection.
  package var discarded = 0
  /// Unanswered sentinels, and pushes that HTTP/2 refused with RST_STREAM.
  package var ignored = 0
  /// Accepted notifications with the token and payload of an earlier one; nil if duplicates are not
  /// recognized.
  package var duplicates: Int?
  /// Error packets with status 10, and GOAWAY frames by faults.
  package var shutdowns = 0
  /// Accepted pushes that went to a channel.
  package var broadcasts = 0
  /// The total number of devices they reached.
  package var deliveries = 0

  package init() {}

  package var received: Int {
    accepted + discarded + ignored + rejected.values.reduce(0, +) + reasons.values.reduce(0, +)
  }
}

struct OpenConnection {
  var number: Int
  var service: ConnectionFaults.Service
  var peer: String
  /// UNIX seconds.
  var since: String
  /// The TLS version; nil during the handshake.
  var tls: String?
  var isHandshakeDone = false
  /// The subject of the client's certificate.
  var subject: String?
  var bytes = 0
  var accepted = 0
  var rejected = 0
  var discarded = 0
}

/// Counts what all connections report, and remembers accepted notifications.
package final class Ledger: Sendable {
  private struct State {
    var totals = Totals()
    var opened = 0
    var open: [Int: OpenConnection] = [:]
    /// The open connections with a finished handshake.
    var standing = 0
    /// Accepted notifications as JSON lines, the oldest first.
    var kept: [[UInt8]] = []
    /// How many were dropped before the first one here.
    var dropped = 0
  }

  private let state = NIOLockedValueBox(State())
  /// Hashes of token and payload of everything accepted.
  private let seen = NIOLockedValueBox(Set<UInt64>())
  let watchesDuplicates: Bool
  /// How many accepted notifications are kept for the control API.
  let keeps: Int
  /// nil if there is no page.
  package let recentPushes: RecentPushes?

  package init(watchesDuplicates: Bool = false, keeps: Int = 0, recentPushes: RecentPushes? = nil) {
    self.watchesDuplicates = watchesDuplicates
    self.keeps = keeps
    self.recentPushes = recentPushes
    if watchesDuplicates { state.withLockedValue { $0.totals.duplicates = 0 } }
  }

  package var totals: Totals { state.withLockedValue { $0.totals } }

  var connections: [OpenConnection] {
    state.withLockedValue { $0.open.values.sorted { $0.number < $1.number } }
  }

  /// Returns the connection's number, counted from 1.
  func open(from peer: String = "", service: ConnectionFaults.Service = .binary) -> Int {
    let since = WallClock.secondsText()
    return state.withLockedValue { state in
      state.opened += 1
      state.open[state.opened] = OpenConnection(
        number: state.opened, service: service, peer: peer, since: since)
      return state.opened
    }
  }

  /// Whether the control API can be queried for connections.
  var tellsConnections: Bool { keeps > 0 || recentPushes != nil }

  /// Records the identity of an open connection's client.
  func identify(_ connection: Int, tls: String?, subject: String?) {
    state.withLockedValue { state in
      state.open[connection]?.tls = tls
      state.open[connection]?.subject = subject
    }
  }

  func close(_ connection: Int) {
    state.withLockedValue { state in
      if state.open.removeValue(forKey: connection)?.isHandshakeDone == true { state.standing -= 1 }
    }
  }

  func connect(_ connection: Int) {
    state.withLockedValue { state in
      state.totals.connections += 1
      guard let index = state.open.index(forKey: connection) else { return }
      state.open.values[index].isHandshakeDone = true
      state.standing += 1
      state.totals.connectionsMax = max(state.totals.connectionsMax, state.standing)
    }
  }

  func refuse() { state.withLockedValue { $0.totals.refused += 1 } }

  func answerFeedback(_ tuples: Int) {
    state.withLockedValue { state in
      state.totals.feedbackConnections += 1
      state.totals.feedbackTuples += tuples
    }
  }

  /// True if one with the same token and payload was accepted before. Identifiers do not count:
  /// many clients start over on each connection, or use one for all.
  func isDuplicate(_ token: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer) -> Bool {
    let hash = SplitMix64.mix(TokenSet.hash(token) &+ 1) ^ TokenSet.hash(payload)
    return seen.withLockedValue { !$0.insert(hash).inserted }
  }

  /// True if one with the same `apns-id`, or the same token and payload, was accepted before.
  func isDuplicate(
    _ token: UnsafeRawBufferPointer, _ payload: UnsafeRawBufferPointer, identifier: String?
  ) -> Bool {
    let isRepeated = isDuplicate(token, payload)
    guard var identifier else { return isRepeated }
    let hash = identifier.withUTF8 { SplitMix64.mix(TokenSet.hash(UnsafeRawBufferPointer($0))) }
    return seen.withLockedValue { !$0.insert(hash).inserted } || isRepeated
  }

  func add(_ tally: inout ConnectionTally, of connection: Int, _ lines: NotificationLines?) {
    state.withLockedValue { state in
      state.totals.accepted += tally.accepted
      if watchesDuplicates {
        state.totals.duplicates = (state.totals.duplicates ?? 0) + tally.duplicates
      }
      state.totals.discarded += tally.discarded
      state.totals.ignored += tally.ignored
      state.totals.shutdowns += tally.shutdowns
      state.totals.broadcasts += tally.broadcasts
      state.totals.deliveries += tally.deliveries
      var rejections = 0
      for (status, count) in tally.rejected {
        state.totals.rejected[status, default: 0] += count
        rejections += count
      }
      for (reason, count) in tally.reasons {
        state.totals.reasons[reason, default: 0] += count
        rejections += count
      }
      if let index = state.open.index(forKey: connection) {
        state.open.values[index].bytes += tally.bytes
        state.open.values[index].accepted += tally.accepted
        state.open.values[index].rejected += rejections
        state.open.values[index].discarded += tally.discarded
      }
      if let lines { keep(lines, &state) }
    }
    tally = ConnectionTally()
  }

  private func keep(_ lines: NotificationLines, _ state: inout State) {
    var start = 0
    for end in lines.ends {
      state.kept.append(Array(lines.text[start..<end - 1]))
      start = end
    }
    // Not on every call, because it moves all remaining elements.
    if state.kept.count > keeps + keeps / 2 + 64 {
      let surplus = state.kept.count - keeps
      state.kept.removeFirst(surplus)
      state.dropped += surplus
    }
  }

  /// Accepted notifications from an index on, as JSON. Indices are counted from 0.
  func accepted(from index: Int, limit: Int) -> (first: Int, lines: [[UInt8]], total: Int) {
    state.withLockedValue { state in
      let first = max(index, state.dropped)
      let total = state.dropped + state.kept.count
      if first >= total { return (first, [], total) }
      return (first, Array(state.kept[(first - state.dropped)...].prefix(limit)), total)
    }
  }

  /// Clears everything but the open connections.
  func reset() {
    state.withLockedValue { state in
      state.totals = Totals()
      state.totals.connectionsMax = state.standing
      if watchesDuplicates { state.totals.duplicates = 0 }
      state.kept = []
      state.dropped = 0
    }
    seen.withLockedValue { $0 = [] }
    recentPushes?.reset()
  }
}
