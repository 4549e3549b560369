import CNGHTTP2

/// A place in what the service sends, behind which the session knows something.
enum Mark {
  /// The status of an answer; and its end.
  case status(Int)
  case answered(Int)
  case reset(Int, code: UInt32)
  case goodbye(last: Int32)
  case settings
  case pong
}

/// One connection, both ends of it.
final class PushConnection {
  enum Phase {
    case closed
    case opening
    case open
  }

  unowned(unsafe) var world: PushWorld!
  let line: Int
  var phase = Phase.closed
  /// Counted over the run.
  var serial = -1
  var openedAt: Int64 = 0
  /// It was begun when the faults were over.
  var isSound = false

  // Opening.
  var opensAt: Int64 = 0
  var opensWell = true
  var openingEnds: Int64 = 0

  // Towards the service.
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
  /// Since when it takes nothing; 0: it takes. And whether it ever did not.
  var refusedSince: Int64 = 0
  var everRefused = false
  /// The session may have put requests into it of which the service sees nothing.
  var mayHideRequests = false

  // What the session was told.
  /// Of the connection's end.
  var isDone = false
  var isRefused = false
  /// A write failed, and nothing was read since.
  var isBroken = false
  var isUnread = false
  var lastRead: Int64 = 0
  var hasReadSettings = false
  var hasReadGoodbye = false
  var hasReadAnswer = false
  /// An answer asked for another connection.
  var isToBeLeft = false
  /// It has read what breaks HTTP/2's rules.
  var hasReadBreach = false
  /// Lanes that begin no more requests do not count as connections side by side.
  var isSettling: Bool { hasReadGoodbye || isToBeLeft || hasReadBreach || everRefused }
  /// When the session asked by a PING that has no answer yet; 0: it did not.
  var pingedAt: Int64 = 0

  // The service.
  var codec: OpaquePointer?
  var agenda = Agenda()
  /// When the deed is done that is being done.
  var now: Int64 = 0
  /// It does nothing more.
  var isDeaf = false
  var givesPong = true
  var whim = PushWhim.serve
  var whimAfter = Int.max
  /// Of each stream's request, by half of the stream's number.
  var requests: [Int] = []
  var openRequests = 0
  /// The highest stream whose request was processed or answered.
  var highestJudged: Int32 = 0
  /// Streams above that one are not looked at.
  var lastStream = Int32.max
  /// GOAWAYs that are the model's own; any other says that nghttp2 found fault.
  var goodbyes = 0
  var settingsLeft = 0
  var hasBegun = false
  /// Of the request that is being read.
  var head = RequestHead()

  // From the service.
  var down: Int64 = 0
  var bytes: [UInt8] = []
  var bytesRead = 0
  private var chunks: [(end: Int, at: Int64)] = []
  private var firstChunk = 0
  var marks: [(place: Int, mark: Mark)] = []
  var nextMark = 0
  /// From there on it breaks the rules.
  var breachAt = Int.max
  var endsAt = Int64.max
  var ending = Ending.goodbye
  /// With the end goes what was not read yet.
  var losesUnread = false

  // Watching.
  var watched: Int16 = 0
  var found: Int16 = 0

  let scratch = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
  let fields = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: 8)

  init(line: Int) { self.line = line }

  /// As before it was opened.
  func close() {
    nghttp2_session_del(codec)
    codec = nil
    phase = .closed
    (serial, openedAt, isSound) = (-1, 0, false)
    (opensAt, opensWell, openingEnds) = (0, true, 0)
    (up, arrival, budget, fullUntil, rereadAt) = (0, 0, 0, 0, 0)
    (pendingCount, pendingSum) = (0, 0)
    (hasSaidGoodbye, writesFail, refusedSince, everRefused) = (false, false, 0, false)
    (mayHideRequests, isDone, isRefused, isBroken, isUnread) = (false, false, false, false, false)
    (lastRead, hasReadSettings, hasReadGoodbye, hasReadAnswer) = (0, false, false, false)
    (isToBeLeft, hasReadBreach, pingedAt) = (false, false, 0)
    agenda.clear()
    (now, isDeaf, givesPong, whim, whimAfter) = (0, false, true, .serve, .max)
    requests.removeAll(keepingCapacity: true)
    (openRequests, highestJudged, lastStream, goodbyes, settingsLeft) = (0, 0, .max, 0, 0)
    hasBegun = false
    down = 0
    bytes.removeAll(keepingCapacity: true)
    (bytesRead, firstChunk, nextMark, breachAt) = (0, 0, 0, .max)
    chunks.removeAll(keepingCapacity: true)
    marks.removeAll(keepingCapacity: true)
    (endsAt, ending, losesUnread) = (.max, .goodbye, false)
    (watched, found) = (0, 0)
  }

  // MARK: Bytes on their way to the session

  /// They get there in one piece, or in several.
  func deliver(_ start: UnsafePointer<UInt8>, _ count: Int) {
    bytes.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    var last = marks.count - 1
    while last >= 0, marks[last].place == .max {
      marks[last].place = bytes.count
      last -= 1
    }
    var at = max(now + world.dice.around(down), chunks.last?.at ?? 0)
    if count > 1, world.dice.happens(world.scenario.pieces) {
      chunks.append((bytes.count - world.dice.within(1...(count - 1)), at))
      at += world.dice.time(upTo: world.scenario.bodyDelayMax)
    }
    chunks.append((bytes.count, at))
  }

  /// Behind the bytes that come next, or within them.
  func mark(_ mark: Mark, at place: Int = .max) { marks.append((place, mark)) }

  /// When the last of them is there.
  var lastArrival: Int64 { chunks.last?.at ?? now + down }

  /// How many bytes can be read by now.
  func available(at time: Int64) -> Int {
    while firstChunk < chunks.count, chunks[firstChunk].at <= time { firstChunk += 1 }
    return (firstChunk == 0 ? 0 : chunks[firstChunk - 1].end) - bytesRead
  }

  /// When something is there to be read.
  func readableAt(_ clock: Int64) -> Int64 {
    var time = endsAt
    if available(at: clock) > 0 {
      time = min(time, clock)
    } else if firstChunk < chunks.count {
      time = min(time, chunks[firstChunk].at)
    }
    return rereadAt > 0 ? min(time, rereadAt) : time
  }

  /// When something can be written, or the attempt will tell that it cannot.
  var writableAt: Int64 { min(fullUntil, endsAt) }
}
