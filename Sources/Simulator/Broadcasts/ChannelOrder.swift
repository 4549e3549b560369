/// What a provider asks of the management of channels.
enum ChannelOrder {
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

/// How a channel order is answered once it is carried out.
struct ChannelResult {
  var status: Int
  /// Of the channel that was created.
  var channel: String?
  /// JSON.
  var body: String?
}
