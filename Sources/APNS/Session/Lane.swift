/// A part of the window with the connection that carries it, and the connection made
/// ready to carry it next.
struct Lane: ~Copyable {
  var window: Window
  /// The line in use and the spare one; they change places.
  var line: Line
  var spare: Line
  var packet = ErrorPacketReader()

  var pace = Pace()

  /// When the connection was first and last written to.
  var firstWrite: Int64?
  var lastWrite: Int64 = 0
  /// Bytes written on the connection.
  var written = 0
  /// Ends in a row that took notifications with them and said nothing.
  var ambiguousEnds = 0
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

  init(window: consuming Window, line: Line, spare: Line) {
    self.window = window
    self.line = line
    self.spare = spare
  }

  /// Takes the spare line into use.
  mutating func moveToSpare() { (line, spare) = (spare, line) }
}
