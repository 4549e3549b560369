/// How many streams a client may have open at once, as far as it can know: a lower limit holds
/// once the client has acknowledged the SETTINGS that tell it, a higher one as soon as it is told.
///
/// HTTP/2 here ends the connection of a client that opens one stream too many. So it is told of
/// no limit, SETTINGS get theirs on the way out, and `PushHandler` refuses the stream alone.
final class StreamsLimit {
  /// What HTTP/2 here is told.
  static let none = Int(UInt32.max)
  /// Before the first SETTINGS are acknowledged; whoever never does so shall not fill the memory.
  static let firstFlight = 4000

  private var known = firstFlight
  /// Of SETTINGS that were sent, the oldest first; nil where they say nothing of streams.
  private var told: [Int?] = []
  /// What the next SETTINGS tell.
  private var untold: Int?

  var inForce: Int { told.reduce(known) { max($0, $1 ?? 0) } }

  /// The answer to SETTINGS is still to come.
  var isWaiting: Bool { !told.isEmpty }

  func set(_ most: Int) { untold = most }

  /// SETTINGS are sent now; what they have to say of streams.
  func tell() -> Int? {
    defer { untold = nil }
    told.append(untold)
    return untold
  }

  /// The client has made the oldest of them its own.
  func acknowledge() {
    if told.isEmpty { return }
    if let most = told.removeFirst() { known = most }
  }
}
