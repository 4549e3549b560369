/// A part of the window with the connection that carries it, and the connection made
/// ready to carry it next.
struct Lane: ~Copyable {
  var window: Window
  /// The line in use and the spare one; they change places.
  var line: Line
  var spare: Line
  var packet = ErrorPacketReader()

  var pace = Pace()

  /// What is last on the connection, where there is to be proof.
  var sentinel = Sentinel()
  /// There is to be proof as soon as all that waits is written.
  var wantsProof = false
  /// When there is to be at the latest; `max` while nothing is in flight.
  var proveDue = Int64.max
  /// With a quiet period: what was written before that time, which is to be proven by it.
  var quietMark: QuietMark?

  /// When the connection was first and last written to.
  var firstWrite: Int64?
  var lastWrite: Int64 = 0
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
  var vainHearings = 0
  var vainSince: Int64 = 0
  /// The last connection ended by a rejection, so this one may too.
  var expectsRejection = false
  /// When the spare line is to be looked at, or tried, next.
  var nextSpareLook: Int64 = 0
  /// What the opening of the spare line waits for, and until when.
  var spareWants: Readiness = []
  var spareUntil: Int64 = 0
  /// Bytes queued since this lane's turn began.
  var queuedInTurn = 0

  var use: LineUse { line.use }

  /// No notification goes out on the connection now.
  var holdsBack: Bool { sentinel.isBegun || isUnwelcome }

  /// Something waits to be written, be it on the next connection.
  var hasUnwritten: Bool { window.hasUnwritten || hasHalfSentinel }
  /// The same, but for what waits for the answer to a sentinel.
  var waitsToWrite: Bool { hasUnwritten && !sentinel.isWhole }
  private var hasHalfSentinel: Bool { sentinel.isBegun && !sentinel.isWhole }

  init(window: consuming Window, line: Line, spare: Line) {
    self.window = window
    self.line = line
    self.spare = spare
  }

  /// Takes the spare line into use.
  mutating func moveToSpare() { (line, spare) = (spare, line) }

  /// The connection that is new, or was, has nothing of what another had.
  mutating func forgetConnection() {
    packet = ErrorPacketReader()
    sentinel = Sentinel()
    quietMark = nil
    firstWrite = nil
    (written, vainHearings) = (0, 0)
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
  var time: Int64
}
