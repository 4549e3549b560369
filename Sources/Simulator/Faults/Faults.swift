import BinaryServer

/// The gateway's faults; none by default.
package struct Faults: Sendable {
  /// How a connection ends.
  package enum Ending: String, Sendable, CaseIterable {
    case closeNotify = "close_notify"
    /// FIN without close_notify.
    case fin
    case reset
    /// The connection stays open but is not read any more.
    case stall
  }

  /// The notifications that count.
  package enum Counting: String, Sendable, CaseIterable {
    case connection
    case run
  }

  /// The answer to a notification with an empty token.
  package enum Sentinel: String, Sendable, CaseIterable {
    case own
    /// An error packet with identifier 0.
    case zero
    case none
  }

  /// The ports with faults.
  package enum Services: String, Sendable, CaseIterable {
    case all
    /// The gateway over both protocols, and the feedback service.
    case pushes
    case channels
  }

  // Which connections, and how often.
  package var services = Services.all
  package var connections: ClosedRange<Int>?
  package var connectionShare = 1.0
  /// nil counts per connection, and for `bad_every` over the run.
  package var counting: Counting?
  package var times: Int?

  /// How GOAWAY ends an HTTP/2 connection.
  package enum Goaway: String, Sendable, CaseIterable {
    /// Closes once all earlier pushes have responses.
    case graceful
    case immediate
    case open
  }

  /// When HTTP/2 responses are sent.
  package enum Answers: String, Sendable, CaseIterable {
    /// Together with the responses to everything from the same read.
    case read
    /// Each in its own write and TLS record.
    case each
    /// Together with all responses within a time.
    case batch
  }

  /// The earlier provider tokens that limit how soon a new one may follow.
  package enum TokenScope: String, Sendable, CaseIterable {
    case connection
    case key
    case address
  }

  // Bad tokens, in addition to those of the gateway's rules.
  package var badTokens: [[UInt8]] = [] { didSet { badTokenSet = TokenSet(badTokens) } }
  package private(set) var badTokenSet = TokenSet()
  package var badPrefixes: [[UInt8]] = []
  package var badEvery: Int?
  package var badShare = 0.0
  package var badStatuses: [UInt8] = [8]

  // The error packet, and the close after it.
  package var errorDelay: ClosedRange<Int>?
  package var noPacket = 0.0
  package var identifierZero = 0.0
  package var closeDelay: ClosedRange<Int>?
  package var ending = Ending.closeNotify
  package var oneSegment = false
  package var shutdownAfter: ClosedRange<Int>?
  package var sentinel = Sentinel.own
  package var sentinelStatus: UInt8 = 2

  // Sending.
  package var recordSize: Int?
  package var segmentSize: Int?
  package var segmentGap: Int?

  // Reading.
  package var readRate: Int?
  package var stallAfter: ClosedRange<Int>?
  package var stallTime: ClosedRange<Int>?
  package var cutAfter: ClosedRange<Int>?
  package var cutAfterBytes: ClosedRange<Int>?
  package var cutEnding = Ending.fin

  // Start of a connection.
  package var refuseTime: Int?
  package var handshakeDelay: ClosedRange<Int>?
  package var handshakeAlert: UInt8?
  package var tlsMin: TLSBound?
  package var tlsMax: TLSBound?
  package var sessionTickets = false

  // HTTP/2: limits of a connection.
  package var streamsMax: Int?
  /// The maximum from a rejection to the next acceptance.
  package var rejectedStreams: Int?
  package var windowSize: Int?
  package var connectionWindowSize: Int?
  package var creditShare = 0.5
  package var noPong = false

  // HTTP/2: responses.
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
  /// The age of a connection at its GOAWAY, in seconds.
  package var goawayAge: ClosedRange<Int>?

  // HTTP/2: the maximum age of a provider token and the minimum time between two, in seconds.
  package var tokenAge = 3600
  package var tokenRenewal = 1200
  package var tokenScope = TokenScope.connection

  /// How long pushes to a gone device are still accepted, in seconds.
  package var goneDelay: ClosedRange<Int>?

  // Feedback.
  package var feedbackCut: Int?

  package init() {}

  var mayReject: Bool {
    !badTokens.isEmpty || !badPrefixes.isEmpty || badEvery != nil || badShare > 0
  }
}
