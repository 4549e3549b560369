/// One connection of a session, with its part of the window and the standby connection that takes
/// over from it.
struct BinaryConnection: ~Copyable {
  var window: Window
  /// The connection in use and the standby; they change places.
  var link: SessionLink
  var standby: SessionLink
  var traffic = Traffic()

  var pace = Pace()

  /// A proof is written as soon as everything that waits is written.
  var wantsProof = false
  /// The latest time to write a proof; `max` while nothing is in flight.
  var proveDue = Nanoseconds.max
  /// The last connection ended because the peer refused the provider, with notifications in flight.
  /// The next one carries a sentinel and nothing else, to prove that nothing is in flight any more.
  var isUnwelcome = false
  /// How many connections in a row ended without an error packet, with notifications in flight.
  var ambiguousEnds = 0
  /// Something was proven since the notifications in doubt were last abandoned.
  var hasProven = false
  /// The last connection ended by a rejection, so this one may too; or this one is being replaced.
  var expectsEnd = false
  /// When the standby connection is next checked, or tried.
  var nextStandbyCheck: Nanoseconds = 0
  /// Bytes queued in this connection's current pass.
  var queuedInTurn = 0
  /// Whole records that a call in an event loop could not write. Nothing is tried again before as much
  /// as a record is added.
  var leftUnwritten = 0

  var phase: ConnectionPhase { link.phase }

  /// The connection may carry no notification now.
  var holdsBack: Bool { isEnding || isUnwelcome }

  /// Nothing that is taken now is written on the connection it has.
  var isEnding: Bool { traffic.sentinel.isBegun || traffic.isReplaced }

  /// Something waits to be written, if only on the next connection.
  var hasUnwritten: Bool { window.hasUnwritten || hasHalfSentinel }
  /// The same, without what waits for the answer to a sentinel.
  var waitsToWrite: Bool { hasUnwritten && !traffic.sentinel.isWhole }
  private var hasHalfSentinel: Bool { traffic.sentinel.isBegun && !traffic.sentinel.isWhole }

  init(window: consuming Window, link: SessionLink, standby: SessionLink) {
    self.window = window
    self.link = link
    self.standby = standby
  }

  /// Bytes of notifications that TLS was given and has not written.
  var pending: Int {
    link.stalledSince != nil && !traffic.sentinel.isBegun ? traffic.stalledRecord : 0
  }

  /// Puts the standby connection to use.
  mutating func moveToStandby() { (link, standby) = (standby, link) }

  /// Everything in flight is resolved, or the peer processed none of it. The call may still need
  /// other proof.
  mutating func settled() {
    wantsProof = false
    proveDue = .max
  }
}

/// The traffic of one open connection. The next one begins with a new value.
struct Traffic {
  var packet = ErrorPacketReader()
  /// The sentinel, which goes out last on a connection when proof is wanted.
  var sentinel = Sentinel()
  /// With a quiet period: the bytes written before a certain time, which that period proves.
  var quietMark: QuietMark?
  /// When the connection was first and last written to.
  var firstWrite: Nanoseconds?
  var lastWrite: Nanoseconds = 0
  /// Bytes written on the connection.
  var written = 0
  /// Bytes of the record that could not be written when the connection last stalled.
  var stalledRecord = 0
  /// Reads in a row that found something but brought no part of a packet, and the time from which
  /// they count.
  var emptyReads = 0
  var emptyReadsSince: Nanoseconds = 0
  /// A notification that the connection carries had its outcome before it was proven.
  var hasUnproven = false
  /// It shows credentials that the session no longer uses. Its notifications are proven; then it is
  /// closed.
  var isReplaced = false
}

/// Everything before that position was written by that time.
struct QuietMark {
  var position: Int
  var time: Nanoseconds
}
