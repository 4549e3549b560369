/// The purpose of a request.
enum RequestPurpose: Equatable {
  /// A notification for a device, whose token is the request's address.
  case device
  /// A broadcast, or a channel management request: the address is the text of a channel.
  case channel
  case management(ChannelOperation)
}

/// A channel management request (Apple: Sending channel management requests to APNs).
enum ChannelOperation {
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
