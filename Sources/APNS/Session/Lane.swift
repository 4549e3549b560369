/// A part of the window with the connection that carries it, and the connection made
/// ready to carry it next.
struct Lane: ~Copyable {
  var window: Window
  /// The line in use and the spare one; they change places.
  private(set) var line: Int
  private(set) var spare: Int
  var use = LineUse.closed
  var spareUse = LineUse.closed
  var packet = ErrorPacketReader()

  var pace = Pace()

  /// When the connection was opened, first written to, last looked at, and last written to.
  var openedAt: Int64 = 0
  var firstWrite: Int64?
  var lastLook: Int64 = 0
  var lastWrite: Int64 = 0
  /// Bytes written on the connection.
  var written = 0
  /// Since when the peer has taken nothing; nil while it takes.
  var stalledSince: Int64?
  /// That is so until something was read.
  var mustRead = false
  /// Ends in a row that took notifications with them and said nothing.
  var ambiguousEnds = 0
  /// The last connection ended by a rejection, so this one may too.
  var expectsRejection = false
  /// When the spare line was opened, and when it is to be looked at, or tried, next.
  var spareSince: Int64 = 0
  var nextSpareLook: Int64 = 0
  /// What the opening of the spare line waits for, and until when.
  var spareWants: Readiness = []
  var spareUntil: Int64 = 0
  /// Bytes queued since this lane's turn began.
  var queuedInTurn = 0

  init(window: consuming Window, line: Int, spare: Int) {
    self.window = window
    self.line = line
    self.spare = spare
  }

  /// Takes the spare line into use.
  mutating func moveToSpare() {
    (line, spare) = (spare, line)
    (use, spareUse) = (spareUse, .closed)
  }
}

/// What a line is good for at the moment.
enum LineUse {
  case closed
  case opening
  case open
}
