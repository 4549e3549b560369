import CNGHTTP2

/// A place in the service's bytes. Once the session has read past it, it knows something.
enum Mark {
  /// The status of a response, and the end of the response.
  case status(Int)
  case answered(Int)
  case reset(Int, code: UInt32)
  case goodbye(last: Int32)
  case settings
  case pong
}

/// Both ends of one connection.
final class HTTP2Link: Link {
  unowned(unsafe) let world: HTTP2World
  /// It was begun after the faults were over.
  var isSound = false
  var showsToken = false

  // The session's view of the peer.
  var lastRead: Int64 = 0
  var hasReadSettings = false
  var hasReadGoodbye = false
  var hasReadAnswer = false
  /// A response asked for another connection.
  var isToBeLeft = false
  /// The session has read something that breaks HTTP/2's rules.
  var hasReadBreach = false
  /// True if the session begins no more requests here. Such channels do not count as
  /// connections side by side.
  var isSettling: Bool {
    hasReadGoodbye || isToBeLeft || hasReadBreach || everRefused || leadsNowhere
      || credentials != world.credentials
  }
  /// The session abandoned more streams in a row than one notification has; a service that is gone,
  /// or closes, does not see that.
  var leadsNowhere: Bool {
    let maximum = HTTP2World.mostDeliveries
    if givenUp > maximum || isDeaf && openRequests > maximum { return true }
    // By their deadlines, and the service does not know yet.
    let due = requests.count {
      $0 >= 0 && world.ledger.asked[$0].seen == .open && world.isDue(world.ledger.asked[$0].number)
    }
    if givenUp + due > maximum { return true }
    guard isDeaf || lastStream != .max else { return false }
    if givenUp + dueUnseen > maximum { return true }
    // Nor does it see how many were begun and abandoned since.
    return requests.contains {
      $0 >= 0 && world.ledger.asked[$0].seen == .open
        && world.clock - world.ledger.asked[$0].at >= world.answerTimeout - world.faults.lapseMax
    }
  }
  /// How many were due since the service sees no more of the streams, and may have been on it.
  var dueUnseen: Int {
    guard isDeaf || lastStream != .max || refusesHidden else { return 0 }
    let since = refusesHidden ? 0 : min(deafSince, lastStream != .max ? hidesSince : .max)
    return (0..<world.ledger.taken).count {
      world.isDue($0) && world.ledger.sent[$0].due?.upperBound ?? 0 >= since
    }
  }
  /// When the session sent a PING that has no answer yet; 0: none is open.
  var pingedAt: Int64 = 0
  /// When it last sent a PING next to streams; 0: never.
  var probedAt: Int64 = 0
  /// When the session last read of the end of a stream; and when the call began that last read of a
  /// stream that had held up others.
  var lastEnd: Int64 = 0
  var heldIn: Int64 = -1
  /// Streams abandoned since the last response was read.
  var givenUp = 0

  // The service.
  var codec: OpaquePointer?
  var agenda = Agenda()
  /// The time of the current deed.
  var now: Int64 = 0
  /// From when on it reads nothing.
  var deafSince: Int64 = .max
  var givesPong = true
  var faultPlan = HTTP2FaultPlan.serve
  var faultPlanAfter = Int.max
  /// The request of each stream, by half of the stream's number.
  var requests: [Int] = []
  var openRequests = 0
  /// The fewest streams that its SETTINGS ever allowed.
  var allowedLeast = Int.max
  /// The highest stream whose request was processed or answered.
  var highestValidated: Int32 = 0
  /// The service does not process streams above this one.
  var lastStream = Int32.max
  /// Since when `lastStream` has applied.
  var hidesSince: Int64 = 0
  /// The service refused streams, and their notifications are unknown.
  var refusesHidden = false
  /// GOAWAYs of the model itself; any other means that nghttp2 found a fault.
  var goodbyes = 0
  var settingsLeft = 0
  var hasBegun = false
  /// The request head that is being read.
  var head = RequestHead()

  // From the service.
  var bytes: [UInt8] = []
  var bytesRead = 0
  private var chunks: [(end: Int, at: Int64)] = []
  private var firstChunk = 0
  var marks: [(place: Int, mark: Mark)] = []
  var nextMark = 0
  /// From this byte on the service breaks the rules.
  var breachAt = Int.max
  /// When the connection ends, unread bytes are lost.
  var losesUnread = false

  let scratch = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
  let fields = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: 8)

  init(_ world: HTTP2World, line: Int) {
    self.world = world
    super.init(line: line)
  }

  deinit {
    nghttp2_session_del(codec)
    scratch.deallocate()
    fields.deallocate()
  }

  override var nextDeed: Int64 { agenda.next }

  // MARK: Bytes on their way to the session

  /// Bytes arrive in one piece or in two.
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

  /// Adds a mark after the next bytes, or within them.
  func mark(_ mark: Mark, at place: Int = .max) { marks.append((place, mark)) }

  /// When the last bytes arrive.
  var lastArrival: Int64 { chunks.last?.at ?? now + down }

  /// How many bytes can be read by that time.
  func available(at time: Int64) -> Int {
    while firstChunk < chunks.count, chunks[firstChunk].at <= time { firstChunk += 1 }
    return (firstChunk == 0 ? 0 : chunks[firstChunk - 1].end) - bytesRead
  }

  override func hasUnread(since time: Int64) -> Bool {
    super.hasUnread(since: time) || hasUnread(upTo: bytesRead + 1, since: time)
  }

  /// The same, up to that many bytes.
  func hasUnread(upTo count: Int, since time: Int64) -> Bool {
    bytesRead < count && chunks.contains { $0.end >= count && $0.at <= time }
  }

  override func nextArrival(_ clock: Int64) -> Int64 {
    if available(at: clock) > 0 { return clock }
    return firstChunk < chunks.count ? chunks[firstChunk].at : .max
  }
}
