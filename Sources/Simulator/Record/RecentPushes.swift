import BinaryServer
import NIOConcurrencyHelpers

/// A notification as received, and its outcome.
package struct RecentPush: Sendable {
  package enum Form: Sendable {
    case binary(command: UInt8, identifier: UInt32?, expiry: UInt32?, priority: UInt8?)
    /// The unchanged headers, without the secret of a provider token.
    case http2(stream: Int, identifier: String, headers: [Header])
  }

  package enum Outcome: String, CaseIterable, Sendable {
    case accepted, rejected, discarded, ignored
  }

  package struct Header: Sendable {
    package var name: String
    package var value: String
  }

  /// To a channel instead of a device.
  package struct Broadcast: Sendable {
    /// The channel in the header.
    package var channel: String
    /// The number of devices that got it.
    package var devices: Int
  }

  /// Counted from 1 since the start.
  package internal(set) var number = 0
  /// UNIX milliseconds.
  package var time: Int64
  package var connection: Int
  package var form: Form
  package var topic: String?
  package var token: [UInt8]
  /// The frame; over HTTP/2 only the payload.
  package var bytes: [UInt8]
  /// The payload's place in the bytes; empty without a payload.
  package var payload: Range<Int>
  /// The payload was longer than the part kept.
  package var isCut = false
  package var outcome = Outcome.ignored
  /// The status of an error packet or an HTTP response.
  package var status: Int?
  /// Apple's reason, or the gateway's error.
  package var reason: String?
  package var isDuplicate = false
  /// `apns-unique-id`; nil without one.
  package var uniqueIdentifier: String?
  /// nil for a push to a device.
  package var broadcast: Broadcast?

  package var payloadBytes: ArraySlice<UInt8> { bytes[payload] }

  mutating func take(_ outcome: LedgerOutcome) {
    switch outcome {
    case .accepted: self.outcome = .accepted
    case .rejected(let status):
      self.outcome = .rejected
      self.status = Int(status)
      reason = RejectStatus.text(status)
    case .refused(let reason):
      self.outcome = .rejected
      status = reason.status
      self.reason = reason.word
    case .discarded: self.outcome = .discarded
    case .ignored: self.outcome = .ignored
    }
  }
}

package struct PushedDevice: Sendable {
  package var token: [UInt8]
  package var topic: String?
  package var pushes = 0
  /// The number of the last push.
  package var last = 0
  /// UNIX milliseconds.
  package var time: Int64 = 0
  package var outcome = RecentPush.Outcome.ignored
}

/// The newest notifications with all their bytes, for the page. Older ones are dropped here; the
/// ledger has counted them all.
package final class RecentPushes: Sendable {
  private struct State {
    var kept = KeptPushes()
    /// Incremented by every reset.
    var epoch = 0
    var devices: [[UInt8]: PushedDevice] = [:]
    var deleted = DeletedNumbers()
    var minute = LastMinute()
  }

  private let state = NIOLockedValueBox(State())
  private let keeps: Int
  private static let devicesMax = 20_000

  /// Keeps at least the newest `keeps` notifications, and about a thousand more at most.
  package init(keeps: Int) { self.keeps = keeps }

  func add(_ recentPushes: inout [RecentPush]) {
    if recentPushes.isEmpty { return }
    state.withLockedValue { state in
      for index in recentPushes.indices {
        state.kept.add(&recentPushes[index])
        note(recentPushes[index], &state)
        state.minute.add(recentPushes[index])
      }
      state.kept.shorten(to: keeps)
    }
    recentPushes.removeAll(keepingCapacity: true)
  }

  private func note(_ recentPush: RecentPush, _ state: inout State) {
    if recentPush.token.isEmpty { return }
    var device = state.devices[recentPush.token] ?? PushedDevice(token: recentPush.token)
    device.pushes += 1
    device.last = recentPush.number
    device.time = recentPush.time
    device.outcome = recentPush.outcome
    device.topic = recentPush.topic ?? device.topic
    state.devices[recentPush.token] = device
    if state.devices.count > Self.devicesMax {
      let newest = state.devices.values.sorted { $0.last > $1.last }.prefix(Self.devicesMax / 2)
      state.devices = Dictionary(uniqueKeysWithValues: newest.map { ($0.token, $0) })
    }
  }

  /// The changes that a page has not received yet.
  package struct Changes: Sendable {
    package var epoch = 0
    package var last = 0
    package var recentPushes: [RecentPush] = []
    /// The number of other new pushes, kept or dropped, but not deleted.
    package var skipped = 0
    /// Numbers deleted since.
    package var deleted: [Int] = []
    /// The number of pushes ever deleted. A request with it returns the later ones.
    package var deletions = 0
  }

  /// The newest pushes after `number`, and the numbers deleted after the first `deletions`.
  package func changes(after number: Int, deletions: Int = 0, limit: Int) -> Changes {
    state.withLockedValue { state in
      var changes = Changes(epoch: state.epoch, last: state.kept.last)
      (changes.deleted, changes.deletions) = state.deleted.numbers(after: deletions)
      if changes.last <= number { return changes }
      changes.recentPushes = state.kept.newest(limit, after: number).pushes
      let gone = state.deleted.count { $0 > number }
      changes.skipped = max(0, changes.last - number - changes.recentPushes.count - gone)
      return changes
    }
  }

  package var kept: KeptPushes { state.withLockedValue { $0.kept } }

  /// False if it is not kept. Counters, ledger and control API still have it.
  package func delete(_ number: Int) -> Bool {
    state.withLockedValue { state in
      guard state.kept.remove(number) else { return false }
      state.deleted.add(number)
      return true
    }
  }

  package func lastMinute() -> [LastMinute.Second] {
    let now = WallClock.milliseconds / 1000
    return state.withLockedValue { $0.minute.seconds(until: now) }
  }

  /// nil if it was dropped or deleted.
  package subscript(number: Int) -> RecentPush? { state.withLockedValue { $0.kept[number] } }

  /// The devices pushed to last, the newest first, and how many there are.
  package func devices(limit: Int) -> (newest: [PushedDevice], count: Int) {
    let all = state.withLockedValue { Array($0.devices.values) }
    return (Array(all.sorted { $0.last > $1.last }.prefix(limit)), all.count)
  }

  func reset() {
    state.withLockedValue { state in
      state.kept.removeAll()
      state.devices = [:]
      state.deleted.forget()
      state.minute = LastMinute()
      state.epoch += 1
    }
  }
}
