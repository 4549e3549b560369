/// A part of the window with the connection that carries it, and the connection made
/// ready to carry it next.
struct BinaryChannel: ~Copyable {
  var window: Window
  /// The line in use and the spare one; they change places.
  var connection: SessionConnection
  var spare: SessionConnection
  var packet = ErrorPacketReader()

  var pace = Pace()

  /// What is last on the connection, where there is to be proof.
  var sentinel = Sentinel()
  /// There is to be proof as soon as all that waits is written.
  var wantsProof = false
  /// When there is to be at the latest; `max` while nothing is in flight.
  var proveDue = Nanoseconds.max
  /// With a quiet period: what was written before that time, which is to be proven by it.
  var quietMark: QuietMark?

  /// When the connection was first and last written to.
  var firstWrite: Nanoseconds?
  var lastWrite: Nanoseconds = 0
  /// Bytes written on the connection.
  var written = 0
  /// The last connection ended by a word against the provider, with notifications in flight:
  /// the next is to prove, with a sentinel and nothing else, that there is none any more.
  var isUnwelcome = false
  /// Ends in a row that took notifications with them and said nothing.
  var ambiguousEnds = 0
  /// Something was proven, since all that was in doubt was last given up.
  var hasProven = false
  /// Hearings in a row that found something and were told nothing, and since when they count.
  var emptyReads = 0
  var emptyReadsSince: Nanoseconds = 0
  /// The last connection ended by a rejection, so this one may too.
  var expectsRejection = false
  /// When the spare line is to be looked at, or tried, next.
  var nextSpareLook: Nanoseconds = 0
  /// What the opening of the spare line waits for, and until when.
  var spareWants: Readiness = []
  var spareUntil: Nanoseconds = 0
  /// Bytes queued since this channel's turn began.
  var queuedInTurn = 0

  var phase: ConnectionPhase { connection.phase }

  /// No notification goes out on the connection now.
  var holdsBack: Bool { sentinel.isBegun || isUnwelcome }

  /// Something waits to be written, be it on the next connection.
  var hasUnwritten: Bool { window.hasUnwritten || hasHalfSentinel }
  /// The same, but for what waits for the answer to a sentinel.
  var waitsToWrite: Bool { hasUnwritten && !sentinel.isWhole }
  private var hasHalfSentinel: Bool { sentinel.isBegun && !sentinel.isWhole }

  init(window: consuming Window, connection: SessionConnection, spare: SessionConnection) {
    self.window = window
    self.connection = connection
    self.spare = spare
  }

  /// Takes the spare line into use.
  mutating func moveToSpare() { (connection, spare) = (spare, connection) }

  /// The connection that is new, or was, has nothing of what another had.
  mutating func forgetConnection() {
    packet = ErrorPacketReader()
    sentinel = Sentinel()
    quietMark = nil
    firstWrite = nil
    (written, emptyReads) = (0, 0)
  }

  /// All that was in flight has its end, or was not looked at. What the call wants beyond
  /// that it goes on to want.
  mutating func settled() {
    wantsProof = false
    proveDue = .max
  }
}

/// All before that position was written by that time.
struct QuietMark {
  var position: Int
  var time: Nanoseconds
}
