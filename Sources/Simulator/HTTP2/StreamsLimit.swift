/// How many streams a client may have open at once, as far as the client can know: a lower limit
/// applies once it has acknowledged the SETTINGS, a higher one as soon as they are sent.
///
/// NIO closes the connection of a client that opens one stream too many. So NIO has no limit,
/// `FrameWriter` adds it to SETTINGS, and `PushHandler` refuses only the stream.
final class StreamsLimit {
  /// NIO's own limit.
  static let none = Int(UInt32.max)
  /// Applies until the first SETTINGS are acknowledged, so that a client that never does so cannot
  /// fill the memory.
  static let firstFlight = 4000

  private var known = firstFlight
  /// The limits in unacknowledged SETTINGS, the oldest first; nil for SETTINGS without one.
  private var told: [Int?] = []
  /// The limit for the next SETTINGS.
  private var untold: Int?

  var inForce: Int { told.reduce(known) { max($0, $1 ?? 0) } }

  /// SETTINGS are not acknowledged yet.
  var isWaiting: Bool { !told.isEmpty }

  func set(_ most: Int) { untold = most }

  /// SETTINGS are sent now. Returns the limit to put into them.
  func tell() -> Int? {
    defer { untold = nil }
    told.append(untold)
    return untold
  }

  /// The client has acknowledged the oldest SETTINGS.
  func acknowledge() {
    if told.isEmpty { return }
    if let most = told.removeFirst() { known = most }
  }
}
