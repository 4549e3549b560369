import BinaryServer

/// Everything the gateway may do wrong. As it is made, it does nothing wrong.
package struct Faults: Sendable {
  /// How a connection is brought to an end.
  package enum Ending: String, Sendable, CaseIterable {
    case closeNotify = "close_notify"
    /// The end of the stream without TLS's word for it.
    case fin
    case reset
    /// It is not: nothing more is read, and nobody hangs up.
    case stall
  }

  /// Whose notifications are counted.
  package enum Counting: String, Sendable, CaseIterable {
    case connection
    case run
  }

  /// How a notification with a zero-length token is answered.
  package enum Sentinel: String, Sendable, CaseIterable {
    case own
    /// With identifier 0.
    case zero
    /// As if it had not come.
    case none
  }

  // Over which connections they come, and how often.
  package var connections: ClosedRange<Int>?
  package var connectionShare = 1.0
  package var counting = Counting.connection
  package var times: Int?

  /// How an HTTP/2 connection is told to end.
  package enum Goaway: String, Sendable, CaseIterable {
    /// Ends once all that was taken is answered.
    case graceful
    /// Ends at once.
    case immediate
    /// Does not end.
    case open
  }

  /// When the answers of HTTP/2 leave.
  package enum Answers: String, Sendable, CaseIterable {
    /// Those to what one read brought together.
    case read
    /// Each in a write and a TLS record of its own.
    case each
    /// Together with all that come within a time.
    case batch
  }

  /// Which provider tokens one may come too soon after.
  package enum TokenScope: String, Sendable, CaseIterable {
    /// Those of its connection.
    case connection
    /// All of its key.
    case key
    /// All of its key from its address.
    case address
  }

  // Which tokens are bad, beside those of the gateway's rules.
  package var badTokens: [[UInt8]] = [] { didSet { badTokenSet = TokenSet(badTokens) } }
  package private(set) var badTokenSet = TokenSet()
  package var badPrefixes: [[UInt8]] = []
  package var badEvery: Int?
  package var badShare = 0.0
  package var badStatuses: [UInt8] = [8]

  // The error packet and what follows it.
  package var errorDelay: ClosedRange<Int>?
  package var noPacket = 0.0
  package var identifierZero = 0.0
  package var closeDelay: ClosedRange<Int>?
  package var ending = Ending.closeNotify
  package var oneSegment = false
  package var shutdownAfter: ClosedRange<Int>?
  package var sentinel = Sentinel.own
  package var sentinelStatus: UInt8 = 2

  // How bytes leave.
  package var recordSize: Int?
  package var segmentSize: Int?
  package var segmentGap: Int?

  // How bytes are taken.
  package var readRate: Int?
  package var stallAfter: ClosedRange<Int>?
  package var stallTime: ClosedRange<Int>?
  package var cutAfter: ClosedRange<Int>?
  package var cutAfterBytes: ClosedRange<Int>?
  package var cutEnding = Ending.fin

  // How a connection begins.
  package var refuseTime: Int?
  package var handshakeDelay: ClosedRange<Int>?
  package var handshakeAlert: UInt8?
  package var tlsMin: TLSBound?
  package var tlsMax: TLSBound?
  package var sessionTickets = false

  // HTTP/2: what a connection may carry.
  package var streamsMax: Int?
  package var windowSize: Int?
  package var connectionWindowSize: Int?
  package var creditShare = 0.5
  package var noPong = false

  // HTTP/2: its answers.
  package var badReasons = [PushReason.badDeviceToken]
  package var resetShare = 0.0
  package var resetEvery: Int?
  package var resetCode: UInt8 = 7
  package var noAnswer = 0.0
  package var answerDelay: ClosedRange<Int>?
  package var answers = Answers.read
  package var answerBatchTime: Int?

  // HTTP/2: GOAWAY.
  package var goawayAfter: ClosedRange<Int>?
  package var goaway = Goaway.graceful
  package var goawayError: UInt8 = 0
  package var goawayReason: String?

  // HTTP/2: how old a provider token may be and how soon another may follow, in seconds.
  package var tokenAge = 3600
  package var tokenRenewal = 1200
  package var tokenScope = TokenScope.connection

  // Feedback.
  package var feedbackCut: Int?

  package init() {}

  var isJudging: Bool {
    !badTokens.isEmpty || !badPrefixes.isEmpty || badEvery != nil || badShare > 0
  }
}
