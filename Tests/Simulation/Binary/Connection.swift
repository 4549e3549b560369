/// What a gateway does out of itself, by a time or a number of bytes, whichever is first.
enum Whim {
  case serve
  case end
  case shutDown
  case nameStranger
  case talkNoise
  case nameNobody(UInt8)
  /// It takes everything from then on and says nothing.
  case vanish
}

/// What a packet settles once all of it was read.
enum Word {
  case nothing
  /// So many notifications were accepted, and the next one rejected.
  case rejects(after: Int, status: UInt8)
  /// So many were accepted.
  case proves(Int)
  /// The answer to a sentinel by an identifier of 0: so many were accepted, where the
  /// status can mean nothing else.
  case answers(Int, status: UInt8)
}

/// One connection, both ends of it.
struct Connection {
  enum Phase {
    case closed
    case opening
    case open
  }

  var phase = Phase.closed
  /// Counted over the run.
  var serial = -1
  /// It was begun as a spare one.
  var isSpare = false
  var openedAt: Int64 = 0

  // Opening.
  var opensAt: Int64 = 0
  var opensWell = true
  var openingEnds: Int64 = 0

  // Towards the gateway.
  var up: Int64 = 0
  /// When the last byte written gets there.
  var arrival: Int64 = 0
  /// So many bytes may be written before the peer takes no more for a while.
  var budget = 0
  var fullUntil: Int64 = 0
  /// Nothing can be written until something was read, which comes then.
  var rereadAt: Int64 = 0
  /// What was refused has to come first again.
  var pendingCount = 0
  var pendingSum: UInt64 = 0
  var hasSaidGoodbye = false
  var writesFail = false
  /// Since when it takes nothing; 0: it takes.
  var refusedSince: Int64 = 0
  /// When it took something last.
  var tookAt: Int64 = 0

  // What the session was told.
  /// Of the connection's end: by a packet, by noise, or by the end itself.
  var isDone = false
  var isRefused = false
  /// A write failed, and nothing was read since.
  var isBroken = false
  var isUnread = false

  // The gateway.
  var whim = Whim.serve
  var whimAt = Int64.max
  var whimAfter = Int.max
  /// It looks at nothing more.
  var isDeaf = false
  /// Bytes of the frame that is not all there.
  let stream: UnsafeMutableRawPointer
  var streamCount = 0
  /// Bytes of whole frames.
  var offset = 0
  /// Notifications written whole, and the newest.
  var frames = 0
  var lastNumber = -1
  var hasSentinel = false
  /// Accepted here, and the last one's identifier.
  var accepted = 0
  var lastAccepted: UInt32?

  // From the gateway.
  var down: Int64 = 0
  var inbox = InlineArray<16, UInt8>(repeating: 0)
  var arrivals = InlineArray<16, Int64>(repeating: 0)
  var inboxCount = 0
  var inboxRead = 0
  var word = Word.nothing
  var hasWord = false
  var namesStranger = false
  var endsAt = Int64.max
  var ending = Ending.goodbye
  /// Something to read that is no data: a session ticket.
  var ticketAt = Int64.max

  // Watching.
  var watched: Int16 = 0
  var found: Int16 = 0

  static let room = 64 << 10

  init() { stream = .allocate(byteCount: Self.room, alignment: 16) }

  private init(reusing stream: UnsafeMutableRawPointer) { self.stream = stream }

  /// As before it was opened.
  mutating func reset() { self = Connection(reusing: stream) }

  /// When something is there to be read.
  var readableAt: Int64 {
    var time = min(endsAt, ticketAt)
    if inboxRead < inboxCount { time = min(time, arrivals[inboxRead]) }
    return rereadAt > 0 ? min(time, rereadAt) : time
  }

  /// When something can be written, or the attempt will tell that it cannot.
  var writableAt: Int64 { min(fullUntil, endsAt) }
}
