/// The outcome of a notification over HTTP/2, as the session reported it.
enum HTTP2End: Equatable {
  case none
  case accepted
  case rejected(status: UInt16, reason: UInt8)
  case unknown
  case cancelled
  case expired
}

/// How the service treats a notification on any connection. It is decided when the
/// notification is sent.
enum HTTP2PlannedOutcome {
  case good
  /// It gets this response each time.
  case bad(UInt8)
  case gone(since: Int64)
  /// It ends every connection that carries it.
  case killer
  /// It is never answered.
  case silent
}

extension Seen {
  var isDoubtful: Bool { self == .doubt || self == .half }
}

/// The model's record of one notification.
struct HTTP2Sent {
  var identifier: UInt32 = 0
  /// What its token names, or its channel.
  var device: Int
  var isBroadcast = false
  var tokenLength: Int
  var payloadLength: Int
  var expiry: Int64
  var priority: UInt8
  var type: UInt8
  var hasTopic: Bool
  var hasCollapse: Bool
  var hasIdentifier: Bool
  var planned: HTTP2PlannedOutcome
  var takenAt: Int64 = 0

  /// The number of its requests that the service saw, and the newest of them.
  var asked = 0
  var newest = -1
  /// The request that the service processed; -1: none.
  var processor = -1
  /// The newest request whose response the session has read in full.
  var answered = -1
  /// The session read since when the device is gone.
  var isTimeRead = false
  /// How its last request ended, and since when it has no open request.
  var lastEnd = Seen.answered
  var freeSince: Int64 = 0
  /// Requests that ended in doubt, and requests that were refused.
  var doubts = 0
  /// Requests in doubt whose connection ended; and those whose connection may have ended.
  var ends = 0
  var mostEnds = 0
  var refusals = 0
  /// Responses that asked for a retry.
  var putOff = 0
  /// Requests whose response the session may or may not have read.
  var unsureDoubts = 0
  var isCancelled = false
  /// Between which times it has to end; nil: it has no deadline.
  var due: ClosedRange<Int64>?
  var isBegunLate = false
  /// How many connections had been dropped, before it was taken, that may have had requests
  /// the service never saw.
  var unseenDropsBefore = 0
  var told = HTTP2End.none
}

/// A request's stream as the session sees it.
enum Seen {
  case open
  /// Ended by a response.
  case answered
  /// Ended by a response that began and was never completed.
  case half
  /// The service has reported that it did not process the request.
  case refused
  /// It is over, and the request's outcome is in doubt.
  case doubt
}

/// One request, as the service knows it and as the session can know it.
struct Asked {
  let number: Int
  let line: Int
  let serial: Int
  let stream: Int32
  let at: Int64
  var seen = Seen.open
  /// Bytes of the payload.
  var received = 0
  var isComplete = false
  var isValidated = false
  /// It was accepted before it was complete.
  var isEarly = false
  /// The service has closed its end of the stream.
  var isClosed = false
  var generation: UInt32?

  // The response, if the status is not 0.
  var status: UInt16 = 0
  var reason: UInt8 = 0
  var timestamp: Int64 = 0
  /// The field retry-after; nil if it is missing.
  var retryAfter: Int?
  var bodySent = 0
  var isStatusRead = false
  var isEndRead = false
  /// Its number among the responses that the session has read in full.
  var turn = 0
  /// If set, the service processed it and resets the stream with this code after the status.
  var resetBehind: UInt32?
}

/// All notifications and requests, and their outcomes.
struct HTTP2Ledger {
  static let maximum = 2000
  let sent: UnsafeMutablePointer<HTTP2Sent>
  private(set) var taken = 0
  /// All before it were begun, or reported.
  var firstWaiting = 0
  var asked: [Asked] = []
  var connections = 0
  var answersRead = 0
  /// The response of the notification that was reported last.
  var lastTurn = 0
  var told = 0
  var toldAccepted = 0
  var toldRejected = 0
  var toldUnknown = 0
  /// The last notification begun for each device, if the session keeps their order.
  var lastOfDevice: [Int: Int] = [:]
  /// The number of devices that the session reported as gone.
  var goneTold = 0

  init() { sent = .allocate(capacity: Self.maximum) }

  mutating func reset() {
    (taken, connections, answersRead, firstWaiting, lastTurn) = (0, 0, 0, 0, 0)
    (told, toldAccepted, toldRejected, toldUnknown, goneTold) = (0, 0, 0, 0, 0)
    asked.removeAll(keepingCapacity: true)
    lastOfDevice.removeAll(keepingCapacity: true)
  }

  var isFull: Bool { taken == Self.maximum }

  mutating func take(_ notification: HTTP2Sent) {
    (sent + taken).initialize(to: notification)
    taken += 1
  }
}
