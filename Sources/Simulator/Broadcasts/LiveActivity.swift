import JSON

/// A Live Activity on one device, as its lock screen would show it.
struct LiveActivity: Sendable {
  enum State: String, Sendable {
    case active
    /// Its `stale-date` has passed.
    case stale
    /// Its last update is shown for a while.
    case ended
    /// Removed from the lock screen.
    case dismissed
  }

  /// How long an ended activity stays on the lock screen: the maximum, and the default without a
  /// date.
  private static let lingers: Int64 = 4 * 3600

  let number: Int
  let token: [UInt8]
  let app: String
  /// The channel that it subscribes to; nil if it gets pushes to its token.
  let channel: String?
  /// Started by a push; otherwise the app itself started it, and the simulator learned of it by its
  /// first update.
  let isStartedByPush: Bool
  let attributesType: String?
  let attributes: String?
  /// UNIX milliseconds.
  let began: Int64

  private(set) var contentState: String?
  private(set) var timestamp: Int64
  private(set) var staleDate: Int64?
  private(set) var relevance: Double?
  private(set) var changed: Int64
  private(set) var updates = 0
  /// Updates older than the one before, which the device ignores.
  private(set) var outdated = 0
  private(set) var isEnded = false
  private var dismissal: Int64?

  init(
    number: Int, token: [UInt8], app: String, channel: String?, _ first: LiveActivityUpdate,
    at now: Int64
  ) {
    self.number = number
    self.token = token
    self.app = app
    self.channel = channel
    isStartedByPush = first.event == .start
    attributesType = first.attributesType
    attributes = first.attributes
    began = now
    changed = now
    timestamp = first.timestamp
    contentState = first.contentState
    staleDate = first.staleDate
    relevance = first.relevance
    if !isStartedByPush { updates = 1 }
  }

  /// `now` is in UNIX milliseconds. False if the update is older than the device's state.
  @discardableResult
  mutating func take(_ update: LiveActivityUpdate, at now: Int64) -> Bool {
    if update.timestamp < timestamp {
      outdated += 1
      return false
    }
    timestamp = update.timestamp
    contentState = update.contentState ?? contentState
    staleDate = update.staleDate
    relevance = update.relevance ?? relevance
    changed = now
    updates += 1
    if update.event == .end {
      isEnded = true
      let latest = now / 1000 + Self.lingers
      dismissal = min(update.dismissalDate ?? latest, latest)
    }
    return true
  }

  /// `now` in UNIX milliseconds.
  func state(at now: Int64) -> State {
    if let dismissal, dismissal * 1000 <= now { return .dismissed }
    if isEnded { return .ended }
    if let staleDate, staleDate * 1000 <= now { return .stale }
    return .active
  }

  func json(at now: Int64) -> String {
    """
    {"number":\(number),"token":"\(TokenField.hex(token))","app":\(JSONLiteral.string(app)),\
    "channel":\(JSONLiteral.string(channel)),"state":"\(state(at: now).rawValue)",\
    "started_by":"\(isStartedByPush ? "push" : "app")",\
    "attributes_type":\(JSONLiteral.string(attributesType)),"attributes":\(attributes ?? "null"),\
    "content_state":\(contentState ?? "null"),"timestamp":\(timestamp),\
    "stale_date":\(number(staleDate)),"dismissal_date":\(number(dismissal)),\
    "relevance_score":\(relevance.map { "\($0)" } ?? "null"),\
    "began":\(began),"changed":\(changed),"updates":\(updates),"outdated":\(outdated)}
    """
  }

  private func number(_ number: Int64?) -> String { number.map { "\($0)" } ?? "null" }
}
