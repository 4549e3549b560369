import NIOConcurrencyHelpers

/// One notification as it came, and what became of it.
package struct Sighting: Sendable {
  package enum Form: Sendable {
    case binary(command: UInt8, identifier: UInt32?, expiry: UInt32?, priority: UInt8?)
    /// The headers as they came; the secret of a provider token is not among them.
    case http2(stream: Int, identifier: String, headers: [Header])
  }

  package struct Header: Sendable {
    package var name: String
    package var value: String
  }

  /// Counted from 1 since the start.
  package internal(set) var number = 0
  /// UNIX milliseconds.
  package var time: Int64
  package var connection: Int
  package var form: Form
  package var topic: String?
  package var token: [UInt8]
  /// The frame; in HTTP/2 the payload alone.
  package var bytes: [UInt8]
  /// Where in the bytes the payload is; empty where none could be found.
  package var payload: Range<Int>
  /// accepted, rejected, discarded or ignored.
  package var fate: String
  /// Of an error packet or of HTTP.
  package var status: Int?
  /// Apple's word for it, or what the gateway found.
  package var reason: String?
  package var isDuplicate = false

  package var payloadBytes: ArraySlice<UInt8> { bytes[payload] }

  mutating func take(_ fate: Fate) {
    switch fate {
    case .accepted: self.fate = "accepted"
    case .rejected(let status):
      self.fate = "rejected"
      self.status = Int(status)
      reason = RejectStatus.text(status)
    case .refused(let reason):
      self.fate = "rejected"
      status = reason.status
      self.reason = reason.word
    case .discarded: self.fate = "discarded"
    case .ignored: self.fate = "ignored"
    }
  }
}

/// A device that was pushed to.
package struct SeenDevice: Sendable {
  package var token: [UInt8]
  package var topic: String?
  package var pushes = 0
  /// The number of the last one.
  package var last = 0
  /// UNIX milliseconds.
  package var time: Int64 = 0
  package var fate = ""
}

/// The newest notifications with all their bytes, for whoever looks on. The ledger counts them
/// all; here they give way.
package final class Sightings: Sendable {
  private struct State {
    /// The oldest first, without a gap.
    var kept: [Sighting] = []
    var last = 0
    /// Goes up with every reset.
    var epoch = 0
    var devices: [[UInt8]: SeenDevice] = [:]
  }

  private let state = NIOLockedValueBox(State())
  private let keeps: Int
  private let devicesMax: Int

  package init(keeps: Int = 10_000, devicesMax: Int = 20_000) {
    self.keeps = keeps
    self.devicesMax = devicesMax
  }

  func add(_ sightings: inout [Sighting]) {
    if sightings.isEmpty { return }
    state.withLockedValue { state in
      for index in sightings.indices {
        state.last += 1
        sightings[index].number = state.last
        note(sightings[index], &state)
      }
      state.kept += sightings
      // Seldom, for it moves all that stay.
      if state.kept.count > keeps + keeps / 2 + 64 {
        state.kept.removeFirst(state.kept.count - keeps)
      }
    }
    sightings.removeAll(keepingCapacity: true)
  }

  private func note(_ sighting: Sighting, _ state: inout State) {
    if sighting.token.isEmpty { return }
    var device = state.devices[sighting.token] ?? SeenDevice(token: sighting.token)
    device.pushes += 1
    device.last = sighting.number
    device.time = sighting.time
    device.fate = sighting.fate
    device.topic = sighting.topic ?? device.topic
    state.devices[sighting.token] = device
    if state.devices.count > devicesMax {
      let newest = state.devices.values.sorted { $0.last > $1.last }.prefix(devicesMax / 2)
      state.devices = Dictionary(uniqueKeysWithValues: newest.map { ($0.token, $0) })
    }
  }

  /// Which of them are to come: those after `number`, of these the newest.
  package func news(after number: Int, limit: Int) -> (epoch: Int, last: Int, sightings: [Sighting])
  {
    state.withLockedValue { state in
      let count = min(max(state.last - number, 0), limit, state.kept.count)
      return (state.epoch, state.last, count == 0 ? [] : Array(state.kept.suffix(count)))
    }
  }

  /// nil where it has given way.
  package subscript(number: Int) -> Sighting? {
    state.withLockedValue { state in
      let index = number - (state.last - state.kept.count) - 1
      return state.kept.indices.contains(index) ? state.kept[index] : nil
    }
  }

  /// Those pushed to last, the newest first, and how many there are.
  package func devices(limit: Int) -> (newest: [SeenDevice], count: Int) {
    let all = state.withLockedValue { Array($0.devices.values) }
    return (Array(all.sorted { $0.last > $1.last }.prefix(limit)), all.count)
  }

  func reset() {
    state.withLockedValue { state in
      state.kept = []
      state.devices = [:]
      state.epoch += 1
    }
  }
}
