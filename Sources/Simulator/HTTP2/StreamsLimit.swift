/// How many open streams a client may have. A lower limit applies once the client has acknowledged
/// the SETTINGS, a higher one as soon as they are sent.
///
/// NIO closes the connection of a client that opens one stream too many. So NIO has no limit,
/// `FrameWriter` adds it to SETTINGS, and `PushHandler` refuses only the stream.
final class StreamsLimit {
  /// The limit for NIO.
  static let none = Int(UInt32.max)
  /// Applies until the first SETTINGS are acknowledged. Limits memory if a client never
  /// acknowledges them.
  static let firstFlight = 4000

  private var current = firstFlight
  /// The limits in unacknowledged SETTINGS, the oldest first; nil for SETTINGS without one.
  private var unacknowledged: [Int?] = []
  private var next: Int?

  var inForce: Int { unacknowledged.reduce(current) { max($0, $1 ?? 0) } }

  var isWaiting: Bool { !unacknowledged.isEmpty }

  func set(_ limit: Int) { next = limit }

  /// Call it when SETTINGS are sent. Returns the limit to put into them.
  func takeNext() -> Int? {
    defer { next = nil }
    unacknowledged.append(next)
    return next
  }

  /// The client has acknowledged the oldest SETTINGS.
  func acknowledge() {
    if unacknowledged.isEmpty { return }
    if let limit = unacknowledged.removeFirst() { current = limit }
  }
}
