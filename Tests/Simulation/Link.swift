/// One connection as the network sees it, whatever is spoken over it.
class Link: CustomStringConvertible {
  enum Phase {
    case closed
    case opening
    case open
  }

  final let line: Int
  final var phase = Phase.closed
  /// Counted over the run.
  final var serial = -1
  /// It was begun as a spare one.
  final var isSpare = false

  // Opening.
  final var opensAt: Int64 = 0
  final var opensWell = true
  final var openingEnds: Int64 = 0

  // Towards the peer.
  final var up: Int64 = 0
  /// When the last byte written gets there.
  final var arrival: Int64 = 0
  /// So many bytes may be written before the peer takes no more for a while.
  final var budget = 0
  final var fullUntil: Int64 = 0
  /// Nothing can be written until something was read, which comes then.
  final var rereadAt: Int64 = 0
  /// What was refused has to come first again.
  final var pendingCount = 0
  final var pendingSum: UInt64 = 0
  final var hasSaidGoodbye = false
  final var writesFail = false
  /// When it took something last.
  final var tookAt: Int64 = 0
  /// Since when it takes nothing; 0: it takes. And whether it ever did not.
  final var refusedSince: Int64 = 0
  final var everRefused = false
  /// The session may have put something into it of which the peer sees nothing.
  final var mayHide = false

  // What the session was told.
  /// Of the connection's end, by whatever says so.
  final var isDone = false
  final var isRefused = false
  /// A write failed, and nothing was read since.
  final var isBroken = false
  final var isUnread = false

  // From the peer.
  final var down: Int64 = 0
  /// The peer looks at nothing more.
  final var isDeaf = false
  /// Something to read that is no data.
  final var ticketAt = Int64.max
  final var endsAt = Int64.max
  final var ending = Ending.goodbye

  // Watching.
  final var watched: Int16 = 0
  final var found: Int16 = 0

  init(line: Int) { self.line = line }

  final var description: String { "line \(line) (connection \(serial))" }

  /// When the peer does something out of itself; `max`: never.
  var nextDeed: Int64 { .max }

  /// When the next bytes come.
  func nextArrival(_ clock: Int64) -> Int64 { .max }

  /// When something is there to be read.
  final func readableAt(_ clock: Int64) -> Int64 {
    let time = min(nextArrival(clock), ticketAt, endsAt)
    return rereadAt > 0 ? min(time, rereadAt) : time
  }

  /// When something can be written, or the attempt will tell that it cannot.
  final var writableAt: Int64 { min(fullUntil, endsAt) }
}
