/// One connection of a session and the HTTP/2 on it.
struct HTTP2Connection {
  var link: SessionLink
  let codec: UnsafeMutablePointer<HTTP2Codec>
  /// When something last arrived, or nothing was expected.
  var lastReceived: Nanoseconds
  /// When something was last read.
  var lastRead: Nanoseconds
  /// When the peer was last sent a PING.
  var askedAt: Nanoseconds = 0
  /// When a stream last began or ended, and when more were last tried than one (`tryMore`).
  var heldSince: Nanoseconds
  var triedAt: Nanoseconds
  /// Since when it takes no stream although nothing is in flight.
  var starvedSince: Nanoseconds?
  /// When its streams are next checked for answers that take too long.
  var nextReview: Nanoseconds = 0
  /// When the peer took something again after a pause: no stream can have waited for its answer for
  /// longer.
  var tookAgain: Nanoseconds?
  /// Streams abandoned since the last response, and how many responses there were.
  var abandoned = 0
  var due = DueStreams()
  var responsesBefore: UInt64 = 0
  /// It shows credentials that the session no longer uses.
  var isReplaced = false
  /// There may be more to read even if a wait reports nothing; and how many bytes were read since
  /// the last time nothing was left.
  var isUnread = false
  var readOn = 0
  /// How much more the peer may send that answers nothing.
  var budget: FloodBudget

  /// A connection that opens at that time.
  init(
    _ link: SessionLink, _ codec: UnsafeMutablePointer<HTTP2Codec>,
    at now: Nanoseconds
  ) {
    self.link = link
    self.codec = codec
    (lastReceived, lastRead, heldSince, triedAt) = (now, now, now, now)
    budget = FloodBudget(at: now)
  }

  var number: Int { link.number }
  var phase: ConnectionPhase { link.phase }
  /// It takes new streams, or will when it is open.
  var isTaking: Bool { phase != .closed && !codec.pointee.isDraining }
}

/// A connection's streams whose notifications have just reached their deadline.
struct DueStreams {
  var isAny = false
  /// How many of them flew for long.
  var long = 0
  /// The peer has said nothing since one of them began.
  var isUnheard = false
}
