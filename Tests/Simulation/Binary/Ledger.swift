import CAPNS

/// How a notification ended, as the model or the caller knows it.
enum End: Equatable {
  case none
  case accepted
  case rejected(UInt8)
  case unknown
}

/// What the gateway will make of a notification, settled when it is sent.
enum Fate {
  case good
  case bad(UInt8)
  /// Rejected with a packet that names nobody.
  case namelessBad(UInt8)
  /// It ends every connection that carries it.
  case killer
}

/// What is known of one notification.
struct Sent {
  var identifier: UInt32
  var channel: Int
  var tokenLength: Int
  var payloadLength: Int
  var expiry: UInt32?
  var priority: UInt8?
  /// Of its frame.
  var size: Int
  var fate: Fate
  /// The one that its channel took next; -1 while there is none.
  var next = -1
  /// The last connection that had it whole, and the one on which it was accepted; -1: none.
  var carrier = -1
  var acceptor = -1
  /// How often it was in flight on a connection that ended without a word.
  var doubts = 0
  var wasRejected = false
  /// The end it has by what the session has read; `none` where that cannot be told.
  var due = End.none
  /// The end that the caller was told.
  var told = End.none
}

/// What one connection came to.
enum Result {
  case lives
  /// It was refused before anything was looked at.
  case refused
  /// A packet was read that settled what it had carried.
  case settled
  /// It ended without that, and what it carried is to be sent again or reported.
  case ambiguous
  /// The same, once too often for sending again.
  case gaveUp
}

/// One for each channel: the notifications it took, as a list.
struct ChannelLedger {
  /// The oldest without an end that is due, and the newest; -1: none.
  var first = -1
  var last = -1
  /// The newest with a token of an unusual length.
  var lastOdd = -1
  /// The newest whose outcome was taken.
  var lastTold = -1
  /// No event comes for one before that; -1: none was taken yet.
  var toBeTold = -1
  /// Ambiguous ends in a row.
  var ambiguousEnds = 0
  var hasProven = false
  /// There were so many of them once that all in doubt became unknown.
  var hasGivenUp = false
  /// Since when something that the connections had has been without proof; -1: nothing is.
  var unprovenSince: Int64 = -1
  /// What was to be first on a connection had to wait there.
  var wasFull = false
  /// A call wanted proof; when the last one that did began.
  var wantsProof = false
  var wantedAt: Int64 = -1
  /// The provider was turned down with something in flight.
  var wasRefused = false
  /// Rejections heard since all was proven.
  var rejections = 0
}

/// The counts that the session's have to equal.
struct Counts {
  var taken = 0
  var accepted = 0
  var rejected = 0
  var unknown = 0
  var resent = 0
  /// Outcomes the caller was told.
  var told = 0
  /// Of frames taken, and of frames that have their end.
  var takenBytes = 0
  var endedBytes = 0
}

/// Who was sent, and what became of each: as the gateway knows it, as the session can
/// know it, and as the caller was told.
struct Ledger {
  static let most = 3000
  let sent: UnsafeMutablePointer<Sent>
  let channels: UnsafeMutablePointer<ChannelLedger>
  private(set) var results: [Result] = []
  var counts = Counts()

  init() {
    sent = .allocate(capacity: Self.most)
    channels = .allocate(capacity: 4)
    reset()
  }

  mutating func reset() {
    channels.initialize(repeating: ChannelLedger(), count: 4)
    results.removeAll(keepingCapacity: true)
    counts = Counts()
  }

  var isFull: Bool { counts.taken == Self.most }

  /// The number of the next connection.
  mutating func beginConnection() -> Int {
    results.append(.lives)
    return results.count - 1
  }

  mutating func end(_ connection: Int, as result: Result) { results[connection] = result }

  mutating func take(_ notification: Sent) {
    let number = counts.taken
    let channel = notification.channel
    (sent + number).initialize(to: notification)
    counts.taken += 1
    counts.takenBytes += notification.size
    if channels[channel].last >= 0 { sent[channels[channel].last].next = number }
    if channels[channel].first < 0 { channels[channel].first = number }
    if channels[channel].last < 0 { channels[channel].toBeTold = number }
    channels[channel].last = number
    if notification.tokenLength != 32 { channels[channel].lastOdd = number }
  }

  /// Gives the oldest of a channel without an end its end.
  mutating func resolveFirst(of channel: Int, as end: End) {
    let number = channels[channel].first
    guard number >= 0 else { return }
    sent[number].due = end
    channels[channel].first = sent[number].next
    counts.endedBytes += sent[number].size
    switch end {
    case .accepted: counts.accepted += 1
    case .rejected: counts.rejected += 1
    case .unknown, .none: counts.unknown += 1
    }
  }

  /// The session was closed: nothing will be known of what has no end.
  mutating func abandon() {
    for channel in 0..<4 {
      while channels[channel].first >= 0 { resolveFirst(of: channel, as: .unknown) }
    }
  }

  /// A call wants proof of all that has no end.
  mutating func wantProof(_ call: Call) {
    for channel in 0..<4 {
      (channels[channel].wantsProof, channels[channel].wantedAt) = (true, call.started)
    }
  }

  /// What a connection had whole was in flight when it ended without a word.
  mutating func doubt(_ connection: Int) {
    for number in 0..<counts.taken where sent[number].carrier == connection {
      sent[number].doubts += 1
    }
  }

  /// Gives the oldest of a channel that were in doubt so often their end; how many those were.
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

  /// The oldest event of a channel that waits to be taken; nil: there is none.
  mutating func waitingEvent(of channel: Int, reportsAccepted: Bool) -> Int? {
    var number = channels[channel].toBeTold
    while number >= 0 {
      switch sent[number].due {
      case .none: return nil
      case .accepted where !reportsAccepted: break
      case _ where sent[number].told == .none: return number
      default: break
      }
      guard sent[number].next >= 0 else { return nil }
      number = sent[number].next
      channels[channel].toBeTold = number
    }
    return nil
  }

  /// The oldest notification of all without an end; -1: there is none.
  var firstUnresolved: Int {
    var oldest = -1
    for channel in 0..<4 where channels[channel].first >= 0 {
      if oldest < 0 || channels[channel].first < oldest { oldest = channels[channel].first }
    }
    return oldest
  }
}
