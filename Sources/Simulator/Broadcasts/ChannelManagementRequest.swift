/// A channel management request.
enum ChannelManagementRequest {
  case create(app: String, BroadcastChannel.Storage)
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
