/// A channel management request (Apple: Sending channel management requests to APNs).
enum ChannelOperation: UInt8 {
  case create, describe, delete, list

  /// The operation's name in a failure's message.
  var words: StaticString {
    switch self {
    case .create: "create a channel"
    case .describe: "describe the channel"
    case .delete: "delete the channel"
    case .list: "list the channels"
    }
  }
}
