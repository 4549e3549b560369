/// One connection as the network sees it, over either protocol.
class Link: CustomStringConvertible {
  enum Phase {
    case closed
    case opening
    case open
  }

  final let line: Int
  final var phase = Phase.closed
  /// The connection's number in the run.
  final var serial = -1
  /// The number of the credentials that it shows.
  final var credentials = 0
  /// The session opened it as a standby connection.
  final var isStandby = false

  // Opening.
  final var opensAt: Int64 = 0
  final var opensWell = true
  final var openingEnds: Int64 = 0
  /// Unreachable addresses tried first, when the next is tried, and how long the good one takes.
  final var deadAddresses = 0
  final var nextTry = Int64.max
  final var opensAfter: Int64 = 0

  // Towards the peer.
  final var up: Int64 = 0
  /// When the last written byte arrives.
  final var arrival: Int64 = 0
  /// How many bytes may be written before the peer takes no more for a while.
  final var budget = 0
  final var fullUntil: Int64 = 0
  /// If set, nothing can be written until something was read, which can be read at this time.
  final var rereadAt: Int64 = 0
  /// Bytes that were refused once and have to come first again.
  final var pendingCount = 0
  final var pendingSum: UInt64 = 0
  final var hasSaidGoodbye = false
  final var writesFail = false
  /// When it last took bytes.
  final var tookAt: Int64 = 0
  /// Since when it has taken nothing; 0: it takes bytes. And whether it ever took nothing.
  final var refusedSince: Int64 = 0
  final var everRefused = false
  /// The session may have written something to it that the peer will not see.
  final var mayHide = false

  // The session's view of the connection.
  /// The session knows, by any sign, that the connection has ended.
  final var isDone = false
  final var isRefused = false
  /// A write failed, and the session has read nothing since.
  final var isBroken = false
  final var isUnread = false

  // From the peer.
  final var down: Int64 = 0
  /// The peer ignores everything from now on.
  final var isDeaf = false
  /// When there is something to read that is not data.
  final var ticketAt = Int64.max
  final var endsAt = Int64.max
  final var ending = Ending.goodbye

  // Watching.
  final var watched: Int16 = 0
  /// What the session's descriptor watches it for.
  final var armed: Int16 = 0
  final var found: Int16 = 0

  init(line: Int) { self.line = line }

  final var description: String { "line \(line) (connection \(serial))" }

  /// When the peer next does something unasked; `max`: never.
  var nextDeed: Int64 { .max }

  /// When the next bytes arrive.
  func nextArrival(_ clock: Int64) -> Int64 { .max }

  /// Something came by that time, and is not read.
  func hasUnread(since time: Int64) -> Bool { endsAt <= time && !isDone }

  /// When there is something to read.
  final func readableAt(_ clock: Int64) -> Int64 {
    let time = min(nextArrival(clock), ticketAt, endsAt)
    return rereadAt > 0 ? min(time, rereadAt) : time
  }

  /// When something can be written, or a write would report that it cannot.
  final var writableAt: Int64 { min(fullUntil, endsAt) }
}
