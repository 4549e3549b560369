import JSON

/// What the page shows, as JSON. Times are UNIX milliseconds, and numbers of devices unless a name
/// says otherwise. Documentation/RELAY-OPERATIONS.md describes each field.
struct ConsoleState: Encodable {
  typealias Problem = ProblemTimes.Problem

  /// A number of devices that were counted at a time. It is approximate if some of them have ended
  /// since: then their outcomes are subtracted, and entries that were added are missing.
  struct Left: Encodable, Equatable {
    var devices: Int
    var counted: Int64
    var isExact: Bool
  }

  struct Campaign: Encodable {
    var campaign: String
    /// `sending`, `paused`, `cancelled`, or `done` if nothing is left.
    var state: String
    var perSecond: Int?
    /// nil until it is counted.
    var left: Left?
    var outcomes: [String: Int]
    var rejected: [String: Int]
    var gone: Int
    var changed: Int64
  }

  struct Lane: Encodable {
    var lane: String
    var entries: Int
    var oldestS: Int
  }

  struct Relay: Encodable {
    var name: String
    var isThis: Bool
    var isRunning: Bool
    var silentMs: Int64
    /// Open ones of this relay, the quota of others; nil without `total_connections`.
    var connections: Int?
  }

  struct Letter: Encodable {
    var id: String
    var lane: String
    var devices: Int
    var deliveries: Int
    var at: Int64
    var history: [String]
  }

  struct Bucket: Encodable {
    /// nil for the last one, which is infinite.
    var atMostS: Double?
    var count: Int
  }

  struct Responses: Encodable {
    var since: Int64
    var buckets: [Bucket]
  }

  struct Webhook: Encodable {
    /// The URL without its path.
    var receiver: String
    /// The outcomes that wait for it, at least these if `isExact` is false; nil if the queue does not say.
    var waiting: Int?
    var isExact = true
    /// When the first of these was recorded.
    var oldest: Int64?
    /// Why this relay's requests fail, and since when.
    var problem: String?
    var since: Int64?
  }

  struct App: Encodable {
    var app: String
    /// `ready`, `failing` or `paused`.
    var state: String
    /// The operator's order, which stands while it fails too.
    var isPaused: Bool
    /// The limits of the operator and of the configuration.
    var perSecond: Int?
    var configuredPerSecond: Int?
    var left: Left?
    var lanes: [Lane] = []
    var deferredEntries = 0
    var claimedEntries = 0
    /// They wait for the limit of their campaign.
    var pacedEntries = 0
    var webhook: Webhook?
    /// This relay's, since it started.
    var outcomes: [String: Int]
    var rejected: [String: Int]
    var inHand: Int
    var connections: Int
    var certificateExpiresS: Int64?
    /// The bad-token guard: whether bad tokens count, and how many were ignored; nil without one.
    var badTokensCount: Bool?
    var badTokensIgnored: Int?
    var responses: Responses?
    var relays: [Relay] = []
    var campaigns: [Campaign] = []
    /// The campaigns with the oldest changes are missing if there are more than 200.
    var campaignsInAll = 0
    var deadLetters = 0
    /// The first 20.
    var firstDeadLetters: [Letter] = []
  }

  var version = 1
  var at: Int64
  var started: Int64
  var queue: String
  var problems: [Problem]
  var apps: [App]

  var json: String { (try? EncodedJSON.of(self)) ?? "{}" }
}

extension StatusServer.Response {
  static func json(_ text: String, status: Int = 200) -> Self {
    Self(status: status, type: "application/json", body: text + "\n")
  }

  static func fault(_ status: Int, _ message: String) -> Self {
    json("{\"error\":\(JSONLiteral.string(message))}", status: status)
  }
}
