/// A channel, to which an app's devices subscribe and its provider broadcasts.
struct BroadcastChannel: Sendable {
  struct StoredMessage: Sendable {
    var payload: [UInt8]
    /// UNIX seconds; expires then.
    var expiration: Int64
  }

  let identifier: String
  /// The app's bundle ID.
  let app: String
  let storage: ChannelManagementRequest.Storage
  var stored: StoredMessage?
  /// The number of messages sent to it.
  var broadcasts = 0

  /// The stored message for later subscribers; nil without one.
  func stored(at now: Int64) -> [UInt8]? {
    stored.flatMap { $0.expiration > now ? $0.payload : nil }
  }
}

/// The subscribers of a channel, in the order of subscription.
struct Subscribers: Sendable {
  private(set) var tokens: [[UInt8]] = []
  private var known: Set<[UInt8]> = []

  /// False if it is already subscribed.
  mutating func insert(_ token: [UInt8]) -> Bool {
    guard known.insert(token).inserted else { return false }
    tokens.append(token)
    return true
  }

  /// False if it is not subscribed.
  @discardableResult
  mutating func remove(_ token: [UInt8]) -> Bool {
    guard known.remove(token) != nil else { return false }
    tokens.removeAll { $0 == token }
    return true
  }
}
