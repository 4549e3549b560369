import NIOHTTP2

/// The SETTINGS that the client has been sent, and the state of the connection that they depend on.
struct AnnouncedSettings {
  private let faults: ConnectionFaults
  private let limit: StreamsLimit
  /// The client has a certificate, or a response to a good provider token was sent.
  private var isAuthorized = false
  private var isRejected = false
  private var sent: PushSettings?

  init(_ faults: ConnectionFaults, _ limit: StreamsLimit) {
    self.faults = faults
    self.limit = limit
  }

  /// The flow-control window of each stream.
  var window: Int? { sent?.window }

  mutating func begin(isAuthorized: Bool) -> HTTP2Settings {
    self.isAuthorized = isAuthorized
    let new = PushSettings(faults.faults, isAuthorized: isAuthorized)
    sent = new
    limit.set(new.streams)
    return new.initial
  }

  /// The changed SETTINGS to send; nil if the client has them.
  mutating func change() -> HTTP2Settings? {
    guard let old = sent else { return nil }
    let new = PushSettings(faults.faults, isAuthorized: isAuthorized, isRejected: isRejected)
    sent = new
    if new == old { return nil }
    if new.streams != old.streams { limit.set(new.streams) }
    return new.changes(from: old)
  }

  /// True if the settings may change.
  mutating func authorize() -> Bool {
    defer { isAuthorized = true }
    return !isAuthorized
  }

  /// True if the settings may change.
  mutating func responded(isRejection: Bool) -> Bool {
    defer { isRejected = isRejection }
    return isRejected != isRejection && faults.faults.rejectedStreams != nil
  }
}
