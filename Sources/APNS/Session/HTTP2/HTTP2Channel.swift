/// A line of the network with the HTTP/2 that is spoken on it.
struct HTTP2Channel {
  var connection: SessionConnection
  let http: UnsafeMutablePointer<HTTP2Connection>
  /// When it was last heard of, or had nothing to be heard.
  var lastReceived: Nanoseconds = 0
  /// When something was last read from it.
  var lastRead: Nanoseconds = 0
  /// Since when the peer owes the answer to a PING.
  var askedAt: Nanoseconds?
  /// Since when it takes nothing, with nothing in flight.
  var starvedSince: Nanoseconds?
  /// When it is next seen to whether some stream waits for its answer too long.
  var nextReview: Nanoseconds = 0
  /// The second in which the peer took something again after a pause: no stream can have
  /// waited for its answer since before.
  var tookAgain: Seconds?
  /// There may be more to be read, whatever a wait says; and how much was read since it
  /// was last known that there is nothing.
  var isUnread = false
  var readOn = 0
  /// What the peer may still send that answers nothing.
  var budget = FloodBudget(at: 0)

  var number: Int { connection.number }
  var phase: ConnectionPhase { connection.phase }
  /// It carries new streams, or will.
  var isTaking: Bool { phase != .closed && !http.pointee.isLeaving }
}
