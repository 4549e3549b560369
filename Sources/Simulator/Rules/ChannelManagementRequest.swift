enum ChannelManagementRequest {
  /// Whether a message is stored once all subscribers have it.
  enum Storage: Int, Sendable {
    case none = 0
    /// The newest is kept for devices that subscribe later.
    case newest = 1
  }

  case create(app: String, Storage)
  case show(app: String, channel: String)
  case delete(app: String, channel: String)
  case list(app: String)

  var app: String {
    switch self {
    case .create(let app, _), .show(let app, _), .delete(let app, _), .list(let app): app
    }
  }
}

/// The response to a successful channel management request.
struct ChannelResult {
  var status: Int
  /// The ID of the new channel.
  var channel: String?
  /// JSON.
  var body: String?
}
