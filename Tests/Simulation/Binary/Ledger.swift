import CAPNS

/// How a notification ended, as the model or the caller knows it.
enum End: Equatable {
  case none
  case accepted
  case rejected(UInt8)
  case unknown
  case cancelled
  case expired
}

/// How the gateway will treat a notification. It is decided when the notification is sent.
enum PlannedOutcome {
  case good
  case bad(UInt8)
  /// The gateway rejects it with a packet that names no notification.
  case namelessBad(UInt8)
  /// It ends every connection that carries it.
  case killer
}

/// The model's record of one notification.
struct Sent {
  var identifier: UInt32
  var channel: Int
  var tokenLength: Int
  var payloadLength: Int
  var expiry: UInt32?
  var priority: UInt8?
  /// The size of its frame.
  var size: Int
  var planned: PlannedOutcome
  /// The next notification that its channel took; -1: none yet.
  var next = -1
  /// The last connection that had it in full, and the one on which it was accepted; -1: none.
  var carrier = -1
  var acceptor = -1
  /// How often it was in flight on a connection that ended without an error packet.
  var doubts = 0
  var wasRejected = false
  var isCancelled = false
  /// Between which times it has to end; nil: it has no deadline.
  var timeDue: ClosedRange<Int64>?
  /// The outcome it must have by the bytes that the session has read; `none` if they leave it open.
  var due = End.none
  /// The outcome that the session reported.
  var told = End.none
}

/// How one connection ended.
enum Result {
  case lives
  /// It was refused before the peer looked at anything.
  case refused
  /// The session read a packet that settled its notifications.
  case settled
  /// It ended without such a packet, and its notifications have to be resent or reported.
  case ambiguous
  /// The same, but it happened too often for sending again.
  case gaveUp
}

/// The notifications that one channel took, as a list.
struct ChannelLedger {
  /// The oldest notification without an outcome that is due, and the newest; -1: none.
  var first = -1
  var last = -1
  /// The newest notification with a token of unusual length.
  var lastOdd = -1
  /// The newest notification whose outcome was taken.
  var lastTold = -1
  /// The newest whose outcome gave way.
  var lastForgotten = -1
  /// No event comes for a notification before this one; -1: none was taken yet.
  var toBeTold = -1
  /// Ambiguous ends in a row.
  var ambiguousEnds = 0
  var hasProven = false
  /// Enough ambiguous ends came in a row once that everything in doubt became unknown.
  var hasGivenUp = false
  /// Since when something on the connections has been unproven; -1: nothing is.
  var unprovenSince: Int64 = -1
  /// The first bytes for a connection had to wait because it took none.
  var wasFull = false
  /// A call wanted proof; and when the last such call began.
  var wantsProof = false
  var wantedAt: Int64 = -1
  /// The provider was refused with something in flight.
  var wasRefused = false
  /// Rejections that were read since everything was last proven.
  var rejections = 0
}

/// Counts that the session's counts have to equal.
struct Counts {
  var taken = 0
  var accepted = 0
  var rejected = 0
  var unknown = 0
  var resent = 0
  /// Outcomes that the session reported.
  var told = 0
  var toldAccepted = 0
  /// Bytes of frames taken, and of frames with an outcome.
  var takenBytes = 0
  var endedBytes = 0
}

/// All notifications and their outcomes: as the gateway knows them, as the session can know them,
/// and as the session reported them.
struct Ledger {
  static let maximum = 3000
  let sent: UnsafeMutablePointer<Sent>
  let channels: UnsafeMutablePointer<ChannelLedger>
  private(set) var results: [Result] = []
  /// From which byte on each cancelled notification is not written, by the connections that were
  /// open.
  var cancelledFrom: [Int: [Int: Int]] = [:]
  var numbers: [UInt32: Int] = [:]
  var counts = Counts()

  init() {
    sent = .allocate(capacity: Self.maximum)
    channels = .allocate(capacity: 4)
    reset()
  }

  mutating func reset() {
    channels.initialize(repeating: ChannelLedger(), count: 4)
    results.removeAll(keepingCapacity: true)
    cancelledFrom.removeAll(keepingCapacity: true)
    numbers.removeAll(keepingCapacity: true)
    counts = Counts()
  }

  var isFull: Bool { counts.taken == Self.maximum }

  /// Returns the number of the next connection.
  mutating func beginConnection() -> Int {
    results.append(.lives)
    return results.count - 1
  }

  mutating func end(_ connection: Int, as result: Result) { results[connection] = result }

  mutating func take(_ notification: Sent) {
    let number = counts.taken
    let channel = notification.channel
    (sent + number).initialize(to: notification)
    numbers[notification.identifier] = number
    counts.taken += 1
    counts.takenBytes += notification.size
    if channels[channel].last >= 0 { sent[channels[channel].last].next = number }
    if channels[channel].first < 0 { channels[channel].first = number }
    if channels[channel].last < 0 { channels[channel].toBeTold = number }
    channels[channel].last = number
    if notification.tokenLength != 32 { channels[channel].lastOdd = number }
  }

  /// Gives a channel's oldest notification without an outcome its outcome.
  mutating func resolveFirst(of channel: Int, as end: End) {
    let number = channels[channel].first
    guard number >= 0 else { return }
    sent[number].due = end
    channels[channel].first = sent[number].next
    counts.endedBytes += sent[number].size
    switch end {
    case .accepted: counts.accepted += 1
    case .rejected: counts.rejected += 1
    case .unknown, .cancelled, .expired, .none: counts.unknown += 1
    }
  }

  /// The session was closed: the outcome of everything without one stays unknown.
  mutating func abandon() {
    for channel in 0..<4 {
      while channels[channel].first >= 0 { resolveFirst(of: channel, as: .unknown) }
    }
  }

  /// A call wants to prove everything without an outcome.
  mutating func wantProof(_ call: Call) {
    for channel in 0..<4 {
      (channels[channel].wantsProof, channels[channel].wantedAt) = (true, call.started)
    }
  }

  /// A connection ended without an error packet: everything it had in full was in flight.
  mutating func doubt(_ connection: Int) {
    for number in 0..<counts.taken where sent[number].carrier == connection {
      sent[number].doubts += 1
    }
  }

  /// Abandons a channel's oldest notifications that were in doubt this often; returns their number.
  mutating func giveUp(of channel: Int, doubts: Int) -> Int {
    var count = 0
    while channels[channel].first >= 0, sent[channels[channel].first].doubts >= doubts {
      resolveFirst(of: channel, as: .unknown)
      count += 1
    }
    return count
  }

  func isInDoubt(_ channel: Int) -> Bool {
    channels[channel].first >= 0 && sent[channels[channel].first].doubts > 0
  }

  /// The channel's oldest untaken event; nil: none. `tells`: whether an accepted one has an event.
  mutating func waitingEvent(of channel: Int, tells: (Int) -> Bool) -> Int? {
    var number = channels[channel].toBeTold
    while number >= 0 {
      switch sent[number].due {
      case .none: return nil
      case .accepted where !tells(number): break
      case _ where sent[number].told == .none: return number
      default: break
      }
      guard sent[number].next >= 0 else { return nil }
      number = sent[number].next
      channels[channel].toBeTold = number
    }
    return nil
  }

  /// The oldest notification of all channels without an outcome; -1: none.
  var firstUnresolved: Int {
    var oldest = -1
    for channel in 0..<4 where channels[channel].first >= 0 {
      if oldest < 0 || channels[channel].first < oldest { oldest = channels[channel].first }
    }
    return oldest
  }
}
