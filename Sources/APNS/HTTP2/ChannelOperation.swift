/// What is asked of the service that manages channels (Apple: Sending channel management requests to
/// APNs).
enum ChannelOperation: UInt8 {
  case create, describe, delete, list

  /// What goes wrong when it fails.
  var words: StaticString {
    switch self {
    case .create: "create a channel"
    case .describe: "describe the channel"
    case .delete: "delete the channel"
    case .list: "list the channels"
    }
  }
}
